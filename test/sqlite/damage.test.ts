// A damaged data file, or one beside the WAL of another: what each command and the service say about it, and that reading changes
// nothing. A damaged WAL is in src/storage/sqlite/writing/open-for-writing.test.ts.
import { Database } from "bun:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { lastBackupFile } from "../../src/storage/sqlite/maintenance/backup-records.ts";
import { verify } from "../../src/storage/sqlite/maintenance/verify.ts";
import { SqliteStore } from "../../src/storage/sqlite/sqlite-store.ts";
import { openForWriting } from "../../src/storage/sqlite/writing/open-for-writing.ts";
import { expectOneLine, type Finished, unshareArguments } from "../support/command.ts";
import { crashedStore, emptyingJournal } from "../support/crashed-store.ts";
import { lacksMounts } from "../support/lacks.ts";
import { storedPlants, testPlant } from "../support/stored-plants.ts";
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
    const plantsToStore = Array.from({ length: plants }, (_, id) => testPlant(id, nameOf(id), "green"));
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

describe("a WAL is refused, and no file is changed, if it is that of", () => {
  /** A data file that has one more plant than this WAL knows of, which was beside it before. */
  async function leaveWalBehind(own: string) {
    const file = join(own, "plants.db");
    await crashedStore(file, 3);
    const wal = readFileSync(`${file}-wal`);
    await using store = new SqliteStore(file);
    await store.plants.create([testPlant(9, "later")], 1);
    return { file, wal };
  }

  async function expectRefused(file: string, wal: Buffer): Promise<void> {
    const data = readFileSync(file);
    writeFileSync(`${file}-wal`, wal);
    expect((await runInProcess(["verify", "--database", file])).err).toContain("is not the WAL of");
    expect(() => openForWriting(file)).toThrow("is not the WAL of");
    expect(readFileSync(file).equals(data)).toBe(true);
    expect(readFileSync(`${file}-wal`).equals(wal)).toBe(true);
  }

  test("an earlier copy", async () => {
    using own = temporaryFolder();
    const { file, wal } = await leaveWalBehind(own.path);
    await expectRefused(file, wal);
  });

  test("another store", async () => {
    using own = temporaryFolder();
    const { file, wal } = await leaveWalBehind(own.path);
    copyFileSync(sound, file);
    await expectRefused(file, wal);
  });
});

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
});

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

describe("verify", () => {
  test.each([
    ["a name", "UPDATE plants SET name = 'Other' WHERE seq = 1500", "names of block 1 (plants 1025 to 2048)"],
    ["a tag", "UPDATE plants SET tag = 'new' WHERE seq = 7", "tags of block 0 (plants 1 to 1024)"],
    ["a time", "UPDATE plants SET created_at_ms = 5 WHERE seq = 2048", "times of block 1"],
    ["a text", "UPDATE plants SET name = CAST(x'ff' AS TEXT) WHERE seq = 7", "id 6: its name is not text"],
    ["counts", "UPDATE block_tags SET plants = plants + 1 WHERE block = 1", "tags of block 1"],
    ["a summary", "DELETE FROM block_names WHERE block = 1", "1 summaries of names for 2 blocks"],
    ["the last plants", "DELETE FROM plants WHERE seq > 2000", "but the last plant is 2000"],
    ["others", "DELETE FROM plants WHERE seq IN (2500, 2501)", "2 of the plants 2049 to 3000 are missing"],
  ])("finds %s changed behind the service's back, and says where", async (_, sql, message) => {
    const { problems } = await verify(changed(sql));
    expect(problems.join("\n")).toContain(message);
  });
});

describe.skipIf(lacksMounts())("on read-only media", () => {
  const onReadOnly = (media: string, ...args: string[]) => {
    const script = `mount --bind '${media}' '${media}' && mount -o remount,ro,bind '${media}' && exec "$@"`;
    const shell = unshareArguments(script, args);
    const { status, stdout, stderr } = spawnSync("unshare", shell, {
      encoding: "utf8",
      env: { PATH: process.env["PATH"] ?? "" },
    });
    return { code: status, out: stdout, err: stderr };
  };

  describe("a data file with a name that is special in a URI", () => {
    const media = join(folder.path, "media, read only");
    const file = join(media, "plants 100%?#.db");
    beforeAll(() => {
      mkdirSync(media);
      copyFileSync(sound, file);
    });

    test("is verified", () => {
      const { err } = onReadOnly(media, "verify", "--database", file);
      expect(err).toContain("3,000 plants checked: 2,048 against the digests");
    });

    test("is listed", () => {
      const filter = ["--tag", "green", "--name", "plant 7,"];
      expect(onReadOnly(media, "list", ...filter, "--database", file).out).toContain("The Plant 7,");
    });

    test("is exported", () => {
      const { out } = onReadOnly(media, "export", "--database", file);
      expect(out.trimEnd().split("\n")).toHaveLength(plants);
    });

    test("is backed up", () => {
      const backup = folder.newPath();
      expect(onReadOnly(media, "backup", backup, "--database", file).code).toBe(0);
      expect(storedPlants(backup)).toEqual(storedPlants(sound));
    });

    test("is copied", () => {
      const copy = folder.newPath();
      expect(onReadOnly(media, "copy", "--from", file, "--to", copy).code).toBe(0);
      expect(storedPlants(copy)).toHaveLength(plants);
    });
  });

  test("a WAL that SQLite cannot read there is not ignored", async () => {
    const media = join(folder.path, "media-with-wal");
    mkdirSync(media);
    const file = join(media, "plants.db");
    await crashedStore(file, 1);
    const { code, err } = onReadOnly(media, "list", "--database", file);
    expect(code).toBe(1);
    expect(err).toContain("copy both files into another folder");
    expectOneLine(err);
  });
});

describe("commands that only read", () => {
  test("leave the WAL of a crashed service unchanged", async () => {
    const file = join(folder.path, "crashed.db");
    await crashedStore(file, 1, { nameOf: () => "in the WAL" });
    const wal = readFileSync(`${file}-wal`);
    expect((await runInProcess(["list", "--database", file])).out).toContain("in the WAL");
    expect((await runInProcess(["verify", "--database", file])).err).toContain(
      "no damage found. 1 plant checked",
    );
    expect(readFileSync(`${file}-wal`).equals(wal)).toBe(true);
  });

  test("leave no files next to a data file that no service has open", async () => {
    const place = join(folder.path, "alone");
    mkdirSync(place);
    copyFileSync(sound, join(place, "plants.db"));
    for (const command of ["list", "verify"])
      expect((await runInProcess([command, "--database", join(place, "plants.db")])).code).toBe(0);
    expect(readdirSync(place)).toEqual(["plants.db"]);
  });
});

describe("backup and restore", () => {
  describe("a copy that fails SQLite's integrity check", () => {
    /** The path of a data file of which every copy does. */
    function newUnsound(): string {
      const file = folder.newPath();
      writeFileSync(file, notText(readFileSync(sound)));
      return file;
    }

    test.each(["a file", "a folder", "standard output"])("is no backup to %s", async (target) => {
      const file = newUnsound();
      const backups = folder.newFolder();
      const targets: Record<string, string> = { "a file": join(backups, "backup.db"), "a folder": backups };
      const to = targets[target] ?? "-";
      expect(await runInProcess(["backup", to, "--database", file])).toEqual({
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

  test.each(["-wal", "-journal"])(
    "a %s file beside the target of a restore is not overwritten",
    async (end) => {
      using own = temporaryFolder();
      const target = join(own.path, "restored.db");
      writeFileSync(target + end, emptyingJournal);
      const { err } = await runInProcess(["restore", sound, "--database", target]);
      expect(err).toContain(`${target}${end} already exists. With --replace, restore moves it`);
      expect(readFileSync(target + end).equals(emptyingJournal)).toBe(true);
    },
  );

  test("a rollback journal that an interrupted copy left does not empty a restored file", async () => {
    using own = temporaryFolder();
    const backup = join(own.path, "backup.db");
    const target = join(own.path, "restored.db");
    expect((await runInProcess(["backup", backup, "--database", sound])).code).toBe(0);
    writeFileSync(`${target}.partial-journal`, emptyingJournal);
    const { err } = await runInProcess(["restore", backup, "--database", target]);
    expect(err).toContain("3,000 plants");
    expect(storedPlants(target)).toEqual(storedPlants(sound));
  });
});
