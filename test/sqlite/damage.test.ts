// A damaged data file: what each command and the service say about it. A damaged WAL is in
// src/storage/sqlite/opening/open-for-writing.test.ts.
import { Database } from "bun:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { lastBackupFile } from "../../src/storage/sqlite/data-file/last-backup.ts";
import { openForWriting } from "../../src/storage/sqlite/opening/open-for-writing.ts";
import { SqliteStore } from "../../src/storage/sqlite/sqlite-store.ts";
import type { Finished } from "../support/command.ts";
import { testPlant } from "../support/stored-plants.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { runInProcess } from "../support/terminal.ts";

const plants = 3000;
const pageBytes = 4096;
const folder = temporaryFolder();
const sound = join(folder.path, "sound.db");
let roots: ReadonlyMap<string, number>;

beforeAll(async () => {
  {
    await using store = new SqliteStore(sound);
    const plantsToStore = Array.from({ length: plants }, (_, id) =>
      testPlant(id, nameOf(id), { tag: "green" }),
    );
    await store.plants.create(plantsToStore, 1000);
  }
  await runInProcess(["token", "create", "--name", "greenhouse", "--database", sound]);
  using database = new Database(sound);
  const rows = database
    .query<[string, number], []>(`SELECT name, (rootpage - 1) * ${pageBytes} FROM sqlite_schema`)
    .values();
  roots = new Map(rows as [string, number][]);
});
afterAll(() => folder[Symbol.dispose]());

// Whatever a command reads of a data file, it notices if that is damaged. A start and doctor look for the same damage.
const malformed = "is damaged (database disk image is malformed); restore a sound backup.";
const readers = ["list", "show 700", "export", "audit", "token list"];
const checks = ["doctor", "start"];
const everyCommand = [...readers, ...checks];

test.each<[what: string, sentence: string, noticing: string[], harm: (bytes: Buffer) => Uint8Array]>([
  ["that is cut off in the middle", malformed, everyCommand, (bytes) => bytes.subarray(0, 40 * pageBytes)],
  [
    "that is cut off within its last page",
    "bytes; restore a sound backup.",
    everyCommand,
    (bytes) => bytes.subarray(0, -1000),
  ],
  [
    "with a page of zeros among its plants",
    malformed,
    ["show 700", "export"],
    (bytes) => zero(bytes, bytes.indexOf(nameOf(700))),
  ],
  [
    "whose index leads to another plant",
    "its index does not lead to every plant; restore a sound backup.",
    checks,
    (bytes) => {
      // The id precedes the name in the table, and the one in the index differs then.
      const name = bytes.lastIndexOf(nameOf(plants - 1));
      return bytes.fill(0x7f, name - 1, name);
    },
  ],
  [
    "with a page of zeros at the root of its tokens",
    malformed,
    ["token list", ...checks],
    (bytes) => zero(bytes, roots.get("tokens") ?? 0),
  ],
  [
    "with a page of zeros at the root of its audit trail",
    malformed,
    ["audit", ...checks],
    (bytes) => zero(bytes, roots.get("audit_trail") ?? 0),
  ],
  [
    "with a plant whose name is not text",
    "cannot be read; restore a sound backup.",
    ["show 700", "export"],
    notText,
  ],
])(
  "a data file %s is explained by verify, and by whatever else reads the damage",
  async (_, sentence, noticing, harm) => {
    const file = damagedCopy(harm);
    const said: Record<string, unknown> = {};
    const expected: Record<string, unknown> = {};
    for (const command of everyCommand) {
      said[command] = await saidBy(command, file);
      const part = command === "doctor" ? sentence.slice(0, -1) : sentence;
      expected[command] = noticing.includes(command) ? expect.stringContaining(part) : "";
    }
    expect(said).toEqual(expected);
    const { code, err } = await runOn(file, "verify");
    expect(code).toBe(1);
    expect(err).toMatch(/is not sound:\n(?: {2}.+\n)+Restore a sound backup, or check --database/);
  },
);

test("a file that is no database is refused by every command with the same sentence", async () => {
  const file = damagedCopy(() => Buffer.from("Dear diary,\n".repeat(1000)));
  const sentence = `${file} is not a SQLite database; name another file, or move it away.`;
  for (const command of [...readers, "verify", "backup -", `restore ${file} --replace`]) {
    const { code, err } = await runOn(file, command);
    expect([command, code, err]).toEqual([command, 1, expect.stringContaining(sentence)]);
  }
  expect(await saidBy("doctor", file)).toContain(sentence.slice(0, -1));
});

test("four overwritten bytes are readable problems, each once, in lines and in JSON, and a backup names the file", async () => {
  // The first two pointers of the page.
  const pointers = pageOf(readFileSync(sound).indexOf(nameOf(700))) + 8;
  const file = damagedCopy((bytes) => bytes.fill(0xff, pointers, pointers + 4));
  const { code, err } = await runOn(file, "verify");
  expect(code).toBe(1);
  const { problems } = JSON.parse((await runOn(file, "verify --json")).out);
  const lines = problems.map((problem: string) => `  ${problem}\n`);
  expect(err).toStartWith(`${file} is not sound:\n${lines.join("")}Restore a`);
  expect(problems[0]).toMatch(/^Tree \d+ page \d+ cell 1: Offset 65535 out of range [\d.]+$/);
  expect(lines.join("").split("\n")).toHaveLength(new Set(problems).size + 1);
  // SQLite repeats this one for each block.
  const repeated = damagedCopy((bytes) => {
    bytes.write("00500050", (roots.get("block_digests") ?? 0) + 3, "hex");
    return bytes;
  });
  expect(JSON.parse((await runOn(repeated, "verify --json")).out).problems).toEqual([
    expect.stringMatching(/^Tree \d+ page \d+: free space corruption$/),
    "NULL value in block_digests.digest",
    "block 0 (plants 1 to 1024): the plants differ from the digest that was stored with them",
  ]);
  const backup = await runOn(file, `backup ${folder.newPath()}`);
  expect(backup.err).toStartWith(`plant-store: ${file} is damaged (database disk image is malformed)`);
});

test("verify gives no digest of a store with plants that cannot be read", async () => {
  const file = damagedCopy((bytes) => zero(bytes, bytes.indexOf(nameOf(700))));
  expect(JSON.parse((await runOn(file, "verify --json")).out)).toMatchObject({
    coveredPlants: 0,
    digest: null,
  });
});

test("list --json reads no further than the plants that it lists", async () => {
  const { code } = await runOn(damagedCopy(notText), "list --oldest --limit 700 --json");
  expect(code).toBe(0);
});

describe("a copy that is damaged", () => {
  /** A data file of which every copy does. */
  const newUnsound = () => damagedCopy(notText);

  test.each(["a folder", "standard output"])("is no backup to %s", async (target) => {
    const backups = folder.newFolder();
    const file = newUnsound();
    const args = ["backup", target === "a folder" ? backups : "-", "--database", file];
    expect(await runInProcess(args)).toEqual({
      code: 1,
      out: "",
      err: `plant-store: The copy of ${file} is damaged: non-TEXT value in plants.name; the plants 1 to 1024 cannot be read: JSON cannot hold BLOB values.\n`,
    });
    expect(readdirSync(backups)).toEqual([]);
    expect(existsSync(lastBackupFile(file))).toBe(false);
  });
});

function nameOf(id: number): string {
  return `The Plant ${id}, ${"green ".repeat(8)}`;
}

/** A copy of the valid file, changed like that. */
function damagedCopy(harm: (bytes: Buffer) => Uint8Array): string {
  const file = folder.newPath("damaged.db");
  writeFileSync(file, harm(readFileSync(sound)));
  return file;
}

/** Runs a command, which never calls damage an internal error. */
async function runOn(file: string, command: string): Promise<Finished> {
  const finished = await runInProcess([...command.split(" "), "--database", file]);
  expect(finished.out + finished.err).not.toMatch(/internal error| {4}at /);
  return finished;
}

/** What a command or a start says about the damage, which it notices or not. */
async function saidBy(command: string, file: string): Promise<string> {
  if (command === "start") return saidByStart(file);
  const { code, out, err } = await runOn(file, command);
  if (code === 0) return "";
  expect(code).toBe(1);
  // Doctor goes on after it, in a sentence of its own.
  if (command === "doctor") return out;
  expect(err.split("\n")).toEqual([expect.stringMatching(/^plant-store: .*\.$/), ""]);
  return err;
}

function saidByStart(file: string): string {
  try {
    openForWriting(file)[Symbol.dispose]();
    return "";
  } catch (error) {
    return (error as Error).message;
  }
}

/** Fills the page that has that byte with zeros. */
function zero(bytes: Buffer, at: number): Buffer {
  return bytes.fill(0, pageOf(at), pageOf(at) + pageBytes);
}

/** Where the page begins that has that byte. */
function pageOf(at: number): number {
  return at - (at % pageBytes);
}

/** One name becomes a blob, which no INSERT would accept. SQLite copies such a row unchanged. */
function notText(bytes: Buffer): Buffer {
  // The record's header, with the column types, precedes the first value, the id.
  const type = bytes.indexOf(nameOf(700)) - 6;
  bytes.writeUInt8(bytes.readUInt8(type) - 1, type);
  return bytes;
}
