// A damaged data file, or one beside the WAL of another: what each command and the service say about it. A damaged WAL is in
// src/storage/sqlite/writing/open-for-writing.test.ts.
import { Database } from "bun:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { copyFileSync, existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { lastBackupFile } from "../../src/storage/sqlite/maintenance/backup-records.ts";
import { verifyDataFile } from "../../src/storage/sqlite/maintenance/verify.ts";
import { SqliteStore } from "../../src/storage/sqlite/sqlite-store.ts";
import { openForWriting } from "../../src/storage/sqlite/writing/open-for-writing.ts";
import type { Finished } from "../support/command.ts";
import { crashedStore } from "../support/crashed-store.ts";
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

// Each damage is met by the commands that read what is damaged. The others do not notice it, and succeed.
const malformed = "is damaged (database disk image is malformed); restore it from a backup.";
const readingCommands = ["list", "show 700", "export", "audit", "token list"];

describe("a data file that is cut off in the middle", () => {
  const cutOff = () => damagedCopy((bytes) => bytes.subarray(0, 40 * pageBytes));

  test.each(readingCommands)("is explained by %s", (command) =>
    expectExplained(command, cutOff(), malformed),
  );
  test("is found by doctor", () => expectFoundByDoctor(cutOff(), malformed));
  test("is found by verify", () => expectFoundByVerify(cutOff()));
  test("keeps the service from starting", () => expectNotOpened(cutOff(), malformed));
});

describe("a data file that is cut off within its last page", () => {
  const sentence = "bytes; restore it from a backup.";
  const cutOff = () => damagedCopy((bytes) => bytes.subarray(0, -1000));

  test.each(readingCommands)("is explained by %s", (command) => expectExplained(command, cutOff(), sentence));
  test("is found by doctor", () => expectFoundByDoctor(cutOff(), sentence));
  test("is found by verify", () => expectFoundByVerify(cutOff()));
  test("keeps the service from starting", () => expectNotOpened(cutOff(), sentence));
});

describe("a file that is not a database", () => {
  const sentence = "is not a SQLite database; name another file, or move it away.";
  const diary = () => damagedCopy(() => Buffer.from("Dear diary,\n".repeat(1000)));

  test.each(readingCommands)("is explained by %s", (command) => expectExplained(command, diary(), sentence));
  test("is found by doctor", () => expectFoundByDoctor(diary(), sentence));
  test("is found by verify", () => expectFoundByVerify(diary()));
  test("keeps the service from starting", () => expectNotOpened(diary(), sentence));
  test("keeps the service from starting also if a lock file is beside it", () => {
    const path = diary();
    writeFileSync(`${path}.lock`, "");
    expectNotOpened(path, sentence);
  });
  test("gets no file beside it", () => {
    const beside = folder.newFolder();
    const path = join(beside, "README.md");
    writeFileSync(path, "Dear diary,\n");
    expect(() => openForWriting(path)).toThrow(sentence);
    expect(readdirSync(beside)).toEqual(["README.md"]);
  });
});

describe("a data file with a page of zeros among its plants", () => {
  const zeroed = () => damagedCopy((bytes) => zero(bytes, bytes.indexOf(nameOf(700))));

  test.each(["show 700", "export"])("is explained by %s", (command) =>
    expectExplained(command, zeroed(), malformed),
  );
  test("is found by verify", () => expectFoundByVerify(zeroed()));
  test.each(["list", "audit", "token list", "doctor"])("is not noticed by %s", (command) =>
    expectNotNoticed(command, zeroed()),
  );
});

describe("a data file whose index leads to another plant", () => {
  const sentence = "its index does not lead to every plant; restore it from a backup.";
  const misled = () =>
    damagedCopy((bytes) => {
      // The id precedes the name in the table, and the one in the index differs then.
      const name = bytes.lastIndexOf(nameOf(plants - 1));
      return bytes.fill(0x7f, name - 1, name);
    });

  test("is found by doctor", () => expectFoundByDoctor(misled(), sentence));
  test("is found by verify", () => expectFoundByVerify(misled()));
  test("keeps the service from starting", () => expectNotOpened(misled(), sentence));
  test.each(readingCommands)("is not noticed by %s", (command) => expectNotNoticed(command, misled()));
});

describe("a data file with a page of zeros at the root of its tokens", () => {
  const zeroed = () => damagedCopy((bytes) => zero(bytes, roots.get("tokens") ?? 0));

  test("is explained by token list", () => expectExplained("token list", zeroed(), malformed));
  test("is found by doctor", () => expectFoundByDoctor(zeroed(), malformed));
  test("is found by verify", () => expectFoundByVerify(zeroed()));
  test("keeps the service from starting", () => expectNotOpened(zeroed(), malformed));
  test.each(["list", "show 700", "export", "audit"])("is not noticed by %s", (command) =>
    expectNotNoticed(command, zeroed()),
  );
});

describe("a data file with a page of zeros at the root of its audit trail", () => {
  const zeroed = () => damagedCopy((bytes) => zero(bytes, roots.get("audit_trail") ?? 0));

  test("is explained by audit", () => expectExplained("audit", zeroed(), malformed));
  test("is found by doctor", () => expectFoundByDoctor(zeroed(), malformed));
  test("is found by verify", () => expectFoundByVerify(zeroed()));
  test("keeps the service from starting", () => expectNotOpened(zeroed(), malformed));
  test.each(["list", "show 700", "export", "token list"])("is not noticed by %s", (command) =>
    expectNotNoticed(command, zeroed()),
  );
});

describe("a data file with a plant whose name is not text", () => {
  const sentence = "cannot be read; restore it from a backup.";
  const withBlob = () => damagedCopy(notText);

  test.each(["show 700", "export"])("is explained by %s", (command) =>
    expectExplained(command, withBlob(), sentence),
  );
  test("is found by verify", () => expectFoundByVerify(withBlob()));
  test.each(["list", "audit", "token list", "doctor"])("is not noticed by %s", (command) =>
    expectNotNoticed(command, withBlob()),
  );
  test("is not noticed by list --json of those before it, which reads no further", () =>
    expectNotNoticed("list --oldest --limit 700 --json", withBlob()));
});

test.each([
  ["a name", "UPDATE plants SET name = 'Other' WHERE seq = 1500", "names of block 1 (plants 1025 to 2048)"],
  ["a tag", "UPDATE plants SET tag = 'new' WHERE seq = 7", "tags of block 0 (plants 1 to 1024)"],
  ["a time", "UPDATE plants SET created_at_ms = 5 WHERE seq = 2048", "times of block 1"],
  ["a text", "UPDATE plants SET name = CAST(x'ff' AS TEXT) WHERE seq = 7", "id 6: its name is not text"],
  ["counts", "UPDATE block_tags SET plants = plants + 1 WHERE block = 1", "tags of block 1"],
  ["a summary", "DELETE FROM block_names WHERE block = 1", "1 summaries of names for 2 blocks"],
  ["the last plants", "DELETE FROM plants WHERE seq > 2000", "but the last plant is 2000"],
  ["others", "DELETE FROM plants WHERE seq IN (2500, 2501)", "2 of the plants 2049 to 3000 are missing"],
])("verify finds %s changed behind the service's back", async (_, sql, message) => {
  const { problems } = await verifyDataFile(changed(sql));
  expect(problems.join("\n")).toContain(message);
});

describe("a copy that is damaged", () => {
  /** A data file of which every copy does. */
  const newUnsound = () => damagedCopy(notText);

  test.each([
    ["a file", (backups: string) => join(backups, "backup.db")],
    ["a folder", (backups: string) => backups],
    ["standard output", () => "-"],
  ])("is no backup to %s", async (_, target) => {
    const backups = folder.newFolder();
    const args = ["backup", target(backups), "--database", newUnsound()];
    expect(await runInProcess(args)).toEqual({
      code: 1,
      out: "",
      err: "plant-store: The copy is damaged: non-TEXT value in plants.name.\n",
    });
    expect(readdirSync(backups).filter((name) => !name.endsWith(".lock"))).toEqual([]);
  });

  test("is not recorded as the last backup", async () => {
    const file = newUnsound();
    await runInProcess(["backup", folder.newFolder(), "--database", file]);
    expect(existsSync(lastBackupFile(file))).toBe(false);
  });

  test("is not restored", async () => {
    const restored = folder.newPath();
    const { err } = await runInProcess(["restore", newUnsound(), "--database", restored]);
    expect(err).toContain("The copy is damaged");
    expect(existsSync(restored)).toBe(false);
    expect(existsSync(`${restored}.partial`)).toBe(false);
  });
});

describe.each([
  ["an earlier copy", () => {}],
  ["another store", (file: string) => copyFileSync(sound, file)],
])("a data file beside the WAL of %s", (_, exchange) => {
  /** A data file with a later plant than the WAL that is put beside it has. */
  async function putForeignWal() {
    const file = join(folder.newFolder(), "plants.db");
    await crashedStore(file, 3);
    const wal = readFileSync(`${file}-wal`);
    {
      await using store = new SqliteStore(file);
      await store.plants.create([testPlant(9, "later")], 1);
    }
    exchange(file);
    const data = readFileSync(file);
    writeFileSync(`${file}-wal`, wal);
    return {
      file,
      expectUnchanged() {
        expect(readFileSync(file).equals(data)).toBe(true);
        expect(readFileSync(`${file}-wal`).equals(wal)).toBe(true);
      },
    };
  }

  test("is refused by verify, which changes nothing", async () => {
    const { file, expectUnchanged } = await putForeignWal();
    expect((await runInProcess(["verify", "--database", file])).err).toContain("is not the WAL of");
    expectUnchanged();
  });

  test("is refused by a start, which changes nothing", async () => {
    const { file, expectUnchanged } = await putForeignWal();
    expect(() => openForWriting(file)).toThrow("is not the WAL of");
    expectUnchanged();
  });
});

function nameOf(id: number): string {
  return `The Plant ${id}, ${"green ".repeat(8)}`;
}

/** A copy of the valid file, changed directly by SQL. */
function changed(sql: string): string {
  const file = folder.newCopy(sound);
  using database = new Database(file);
  database.run(sql);
  return file;
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

async function expectExplained(command: string, file: string, sentence: string): Promise<void> {
  const { code, err } = await runOn(file, command);
  expect(code).toBe(1);
  expect(err).toContain(sentence);
  expect(err.split("\n")).toEqual([expect.stringMatching(/^plant-store: .*\.$/), ""]);
}

async function expectNotNoticed(command: string, file: string): Promise<void> {
  const { code } = await runOn(file, command);
  expect(code).toBe(0);
}

/** Doctor goes on after it, in a sentence of its own. */
async function expectFoundByDoctor(file: string, sentence: string): Promise<void> {
  const { code, out } = await runOn(file, "doctor");
  expect(code).toBe(1);
  expect(out).toContain(sentence.replace(/\.$/, ""));
}

/** Verify lists all that is wrong. */
async function expectFoundByVerify(file: string): Promise<void> {
  const { code, err } = await runOn(file, "verify");
  expect(code).toBe(1);
  expect(err).toMatch(/is damaged:\n(?: {2}.+\n)+Restore it from a backup, or check --database/);
}

function expectNotOpened(file: string, sentence: string): void {
  expect(() => openForWriting(file)).toThrow(sentence);
}

/** Fills the page that has that byte with zeros. */
function zero(bytes: Buffer, at: number): Buffer {
  const page = at - (at % pageBytes);
  return bytes.fill(0, page, page + pageBytes);
}

/** One name becomes a blob, which no INSERT would accept. SQLite copies such a row unchanged. */
function notText(bytes: Buffer): Buffer {
  // The record's header, with the column types, precedes the first value, the id.
  const type = bytes.indexOf(nameOf(700)) - 6;
  bytes.writeUInt8(bytes.readUInt8(type) - 1, type);
  return bytes;
}
