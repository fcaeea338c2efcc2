import { Database } from "bun:sqlite";
import { afterAll, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { createEmptyStore } from "../../../../test/support/seeded-store.ts";
import { testPlant } from "../../../../test/support/stored-plants.ts";
import { temporaryFolder } from "../../../../test/support/temporary-folder.ts";
import { verifyDataFile } from "../copying/verify.ts";
import { checkpoint, connect } from "../data-file/connect.ts";
import { SqliteStore } from "../sqlite-store.ts";
import { BlockDigests, storedDigests } from "./block-digests.ts";
import { BlockSummaries } from "./block-summaries.ts";
import { describeEachBlock } from "./blocks.ts";

const folder = temporaryFolder();
afterAll(() => folder[Symbol.dispose]());

/** An empty data file, and a connection that may change it, as another program has. */
function emptyStore(): { readonly file: string; readonly database: Database } {
  const file = folder.newPath();
  createEmptyStore(file);
  return { file, database: connect(file, 0) };
}

/** Inserts plants and then tells the summaries, in one transaction. */
function insert(database: Database, seqs: Iterable<number>, nameOf = (seq: number) => `Fern ${seq}`): void {
  const statement = database.query(
    "INSERT INTO plants (seq, id, name, tag, created_at_ms, created_by) VALUES (?, ?, ?, 'green', 1, 'test')",
  );
  database.transaction(() => {
    for (const seq of seqs) statement.run(seq, seq, nameOf(seq));
    new BlockSummaries(database).summariseIfFull(0);
  })();
}

function seqs(first: number, last: number): number[] {
  return Array.from({ length: last - first + 1 }, (_, index) => first + index);
}

test("a block without any plant gets no digest", () => {
  const { database } = emptyStore();
  using _ = database;
  new BlockDigests(database).write(0);
  expect(storedDigests(database).size).toBe(0);
});

test("a digest is the SHA-256 of the rows as lines of JSON", async () => {
  const file = folder.newPath();
  const startMs = 1_700_000_000_000;
  // What JSON escapes, what it does not, and letters of one to four bytes.
  const names = ["", 'a "quoted" \\ name', "tab\tline\ncontrol\u0001", "\u007f/'", "é日本🌱"];
  const plantsToStore = Array.from({ length: 2100 }, (_, index) => {
    const id = index % 2 === 0 ? 2n ** 63n - 1n - BigInt(index) : -(2n ** 63n) + BigInt(index);
    const tag = index % 3 === 0 ? undefined : "green";
    return testPlant(id, names[index % names.length], { tag });
  });
  {
    await using store = new SqliteStore(file);
    for (let first = 0; first < plantsToStore.length; first += 77)
      await store.plants.create(plantsToStore.slice(first, first + 77), startMs);
  }
  // SQLite escapes as JSON.stringify does, in these names.
  const lines = plantsToStore.map(({ plant: { id, name, tag } }, index) => {
    const texts = [name, tag ?? null].map((text) => JSON.stringify(text)).join(",");
    return `[${index + 1},${id},${texts},${startMs},"test"]\n`;
  });
  const blocks = [lines.slice(0, 1024), lines.slice(1024, 2048)].map((block) => sha256(block.join("")));
  using database = new Database(file, { safeIntegers: true });
  expect([...storedDigests(database)]).toEqual([
    [0, blocks[0] ?? ""],
    [1, blocks[1] ?? ""],
  ]);
  const digest = sha256(blocks.map((block) => `${block}\n`).join(""));
  expect(await verifyDataFile(file)).toMatchObject({
    matchedPlants: 2048,
    coveredPlants: 2048,
    digest,
    problems: [],
  });
});

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

test.each([
  ["long names", "x".repeat(7750), "x".repeat(7800)],
  ["names that JSON makes longer", "\u0001".repeat(1200), "\u0001".repeat(1400)],
])(
  "a block with over 8 MB of JSON, of %s, has no digest and is checked for form only",
  async (_, under, over) => {
    const { file, database } = emptyStore();
    insert(database, seqs(1, 1024), () => under);
    insert(database, seqs(1025, 2048), () => over);
    insert(database, seqs(2049, 3072));
    expect([...storedDigests(database).keys()]).toEqual([0, 2]);
    database.close();
    expect(await verifyDataFile(file)).toMatchObject({
      plants: 3072,
      matchedPlants: 2048,
      coveredPlants: 3072,
      problems: [],
    });
  },
);

test("blocks without any plant, more than one batch summarises, get no digest, unlike the next one", async () => {
  const { file, database } = emptyStore();
  const after = 1024 * 101;
  insert(database, seqs(1, 1024));
  insert(database, seqs(after + 1, after + 1024));
  expect([...storedDigests(database).keys()]).toEqual([0, 101]);
  database.close();
  expect(await verifyDataFile(file)).toMatchObject({
    plants: 2048,
    problems: ["blocks 1 to 100 (plants 1025 to 103424): no plant is left"],
  });
});

test("the loss of the first block is noticed", async () => {
  const { file, database } = emptyStore();
  insert(database, seqs(1, 2048));
  database.run("DELETE FROM plants WHERE seq <= 1024");
  database.close();
  expect((await verifyDataFile(file)).problems).toEqual(["block 0 (plants 1 to 1024): no plant is left"]);
});

test("a row that is damaged while its block is filled leaves the block without a digest", () => {
  const { file, database } = emptyStore();
  insert(database, seqs(1, 1000));
  checkpoint(database, "TRUNCATE");
  database.close();
  // One name becomes a blob: the type of the column is in the header of the record, six bytes before.
  const bytes = readFileSync(file);
  const type = bytes.indexOf("Fern 500") - 6;
  bytes.writeUInt8(bytes.readUInt8(type) - 1, type);
  writeFileSync(file, bytes);
  using damaged = connect(file, 0);
  insert(damaged, seqs(1001, 1024));
  expect(storedDigests(damaged).size).toBe(0);
});

test("a digest that is there already is not replaced, so that removed plants are noticed", async () => {
  const { file, database } = emptyStore();
  insert(database, seqs(1, 1024));
  database.run(
    "DELETE FROM plants WHERE seq > 1000; DELETE FROM block_times; DELETE FROM block_names; DELETE FROM block_tags",
  );
  insert(database, seqs(1001, 1024), (seq) => `Other ${seq}`);
  database.close();
  expect((await verifyDataFile(file)).problems).toEqual([
    "block 0 (plants 1 to 1024): the plants differ from the digest that was stored with them",
  ]);
});

test("blocks that follow each other are named together", () => {
  expect(describeEachBlock([0, 3, 4, 5])).toEqual([
    "block 0 (plants 1 to 1024)",
    "blocks 3 to 5 (plants 3073 to 6144)",
  ]);
});
