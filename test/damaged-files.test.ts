import { Database } from "bun:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { SqliteStore } from "../src/storage/sqlite/sqlite-store.ts";
import { openWriter } from "../src/storage/sqlite/writing/open-writer.ts";
import { temporaryFolder } from "./harness.ts";
import { runInProcess } from "./terminal.ts";

const pageBytes = 4096;
const lastId = 1500;
const all = ["doctor", "list", "list --name none", "show 700", "export", "verify", "audit", "token list"];

const malformed = "is damaged (database disk image is malformed); restore it from a backup.";
// With the sentence about it, and the commands that read what is damaged.
const damages: [what: string, harm: (sound: Buffer) => Uint8Array, sentence: string, string[]][] = [
  ["cut off in the middle", (bytes) => bytes.subarray(0, 40 * pageBytes), malformed, all],
  [
    "cut off within its last page",
    (bytes) => bytes.subarray(0, -1000),
    "bytes; restore it from a backup.",
    all,
  ],
  [
    "that is not a database",
    () => Buffer.from("Dear diary,\n".repeat(1000)),
    "is not a SQLite database; move it away or use another data file.",
    all,
  ],
  [
    "with a page of zeros among its plants",
    (bytes) => zero(bytes, bytes.indexOf(nameOf(700))),
    malformed,
    ["list --name none", "show 700", "export", "verify"],
  ],
  [
    "whose index leads to another plant",
    // The id precedes the name in the table, and the one in the index differs then.
    (bytes) => bytes.fill(0x7f, bytes.lastIndexOf(nameOf(lastId)) - 1, bytes.lastIndexOf(nameOf(lastId))),
    "its index does not lead to every plant; restore it from a backup.",
    ["doctor", "verify"],
  ],
  [
    "with a page of zeros at the root of its tokens",
    (bytes) => zero(bytes, pageOf("tokens")),
    malformed,
    ["doctor", "token list", "verify"],
  ],
  [
    "with a page of zeros at the root of its audit trail",
    (bytes) => zero(bytes, pageOf("audit_trail")),
    malformed,
    ["audit", "verify"],
  ],
  [
    "with a plant whose name is not text",
    // In the record before the name, its type becomes that of a blob as long.
    (bytes) => {
      const type = bytes.indexOf(nameOf(700)) - 6;
      bytes.writeUInt8(bytes.readUInt8(type) - 1, type);
      return bytes;
    },
    "cannot be read; restore it from a backup.",
    ["show 700", "export", "verify"],
  ],
];

const folder = temporaryFolder();
const file = join(folder.path, "plants.db");
let sound: Buffer;
let roots: ReadonlyMap<string, number>;

beforeAll(async () => {
  {
    await using store = new SqliteStore(file);
    for (let id = 0; id <= lastId; id++) {
      const plant = { id: BigInt(id), name: nameOf(id), tag: undefined };
      await store.plants.create([{ plant, createdBy: "test" }], id);
    }
  }
  await runInProcess(["token", "create", "--name", "greenhouse", "--database", file]);
  using database = new Database(file);
  const rows = database
    .query<[string, number], []>("SELECT name, (rootpage - 1) * 4096 FROM sqlite_schema")
    .values();
  roots = new Map(rows as [string, number][]);
  database.close();
  sound = readFileSync(file);
});
afterAll(() => folder[Symbol.dispose]());

describe.each(damages)("a data file %s", (_, harm, sentence, failing) => {
  beforeAll(() => writeFileSync(file, harm(Buffer.from(sound))));

  test.each(all)("is explained by %s in a sentence, if that reads the damage", async (name) => {
    const { code, out, err } = await runInProcess([...name.split(" "), "--database", file]);
    expect(out + err).not.toMatch(/internal error| {4}at /);
    expect(code).toBe(failing.includes(name) ? 1 : 0);
    if (code === 0) return;
    // These two report it themselves.
    if (name === "doctor") expect(out).toContain(sentence.replace(/\.$/, ""));
    else if (name === "verify")
      expect(err).toMatch(/is damaged:\n(?: {2}.+\n)+Restore it from a backup|is not a SQLite database/);
    else {
      expect(err).toContain(sentence);
      expect(err.split("\n")).toEqual([expect.stringMatching(/^plant-store: .*\.$/), ""]);
    }
  });

  if (failing.includes("doctor"))
    test("keeps the service from starting", () => {
      expect(() => openWriter(file)).toThrow(sentence);
    });
});

function nameOf(id: number): string {
  return `The Plant ${id}, ${"green ".repeat(20)}`;
}

function pageOf(table: string): number {
  return roots.get(table) ?? 0;
}

/** The page with that byte. */
function zero(bytes: Buffer, at: number): Buffer {
  const page = at - (at % pageBytes);
  return bytes.fill(0, page, page + pageBytes);
}
