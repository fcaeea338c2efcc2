// restore --replace: the backup takes the place of the store, which is moved aside.
import { Database } from "bun:sqlite";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { readMarker, writeMarker } from "../../src/storage/sqlite/data-file/failure-marker.ts";
import { readUseWithoutWal } from "../../src/storage/sqlite/data-file/store-use.ts";
import {
  lastBackupFile,
  readLastBackup,
  recordLastBackup,
} from "../../src/storage/sqlite/maintenance/backup-records.ts";
import { connectReadOnly } from "../../src/storage/sqlite/reading/connect-read-only.ts";
import { SqliteStore } from "../../src/storage/sqlite/sqlite-store.ts";
import { openForWriting } from "../../src/storage/sqlite/writing/open-for-writing.ts";
import { contentsOf, rebuiltFile } from "../../src/storage/sqlite/writing/rebuild.ts";
import { unshareArguments } from "../support/command.ts";
import { crashedStore, emptyingJournal } from "../support/crashed-store.ts";
import { damageIdIndex } from "../support/damaged-index.ts";
import { useFolderForEachTest } from "../support/folder-for-each-test.ts";
import { lacksMounts } from "../support/lacks.ts";
import { memoize } from "../support/memoize.ts";
import { openAsNextStart } from "../support/next-start.ts";
import { seedStore } from "../support/seeded-store.ts";
import { storedPlants, testPlant } from "../support/stored-plants.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { runInProcess } from "../support/terminal.ts";
import { startTestService } from "../support/test-service.ts";

// A backup and the stores to replace are made once, and every test gets copies of them.
const made = temporaryFolder();
const madeBackup = join(made.path, "backup.db");
const madeOld = join(made.path, "old.db");
const madeCrashed = join(made.path, "crashed.db");
const madeWithoutWal = join(made.path, "without-wal.db");
beforeAll(async () => {
  const source = join(made.path, "source.db");
  await storeOf(source, ["backed up"]);
  await runInProcess(["backup", madeBackup, "--database", source]);
  await storeOf(madeOld, ["old"]);
  await crashedStore(madeCrashed, 3);
  await crashedStore(madeWithoutWal, 8, { checkpointed: 3 });
});
afterAll(() => made[Symbol.dispose]());

const folder = useFolderForEachTest();
let backup: string;
beforeEach(() => {
  backup = join(made.newFolder(), "backup.db");
  copyFileSync(madeBackup, backup);
  copyFileSync(`${madeBackup}.sha256`, `${backup}.sha256`);
});

async function storeOf(path: string, names: readonly string[]): Promise<void> {
  await using store = new SqliteStore(path);
  const plants = names.map((name, index) => testPlant(index, name));
  await store.plants.create(plants, Date.now());
}

/** Puts a closed store there that has one plant, "old". */
function putOldStore(): void {
  copyFileSync(madeOld, folder.dataFile);
}

/** Puts a store there as kill -9 leaves it, whose three plants are only in its WAL. */
function putCrashedStore(): void {
  for (const end of ["", "-wal"]) copyFileSync(madeCrashed + end, folder.dataFile + end);
}

/** Puts the data file of such a store there, with the three of its eight plants that were checkpointed, and no WAL. */
function putStoreWithoutWal(): void {
  copyFileSync(madeWithoutWal, folder.dataFile);
}

const restore = (from: string, ...flags: string[]) =>
  runInProcess(["restore", from, "--replace", "--database", folder.dataFile, ...flags]);
const namesIn = (path: string) => storedPlants(path).map(({ name }) => name);
const storeIdOf = (path: string) => {
  using database = connectReadOnly(path);
  return database.query<{ id: string }, []>("SELECT id FROM store_id").get()?.id;
};
/** The one folder with what was there before. */
function beforeFolder(path = folder.path): string {
  const found = readdirSync(path).filter((name) => name.startsWith("plants.db.before-"));
  expect(found).toHaveLength(1);
  return join(path, found[0] ?? "");
}

describe("restore --replace", () => {
  test("puts the backup in the place of the old store", async () => {
    putOldStore();
    await restore(backup);
    openAsNextStart(folder.dataFile);
    expect(namesIn(folder.dataFile)).toEqual(["backed up"]);
  });

  test("says how many plants it restored", async () => {
    putCrashedStore();
    const { code, err } = await restore(backup);
    expect(code).toBe(0);
    expect(err).toStartWith("Restored and checked 1 plant: ");
  });

  test("moves the old data file and its WAL into one folder", async () => {
    putCrashedStore();
    const wal = readFileSync(`${folder.dataFile}-wal`);
    await restore(backup);
    expect(readFileSync(join(beforeFolder(), "plants.db-wal")).equals(wal)).toBe(true);
    expect(storedPlants(join(beforeFolder(), "plants.db"))).toHaveLength(3);
  });

  test("makes that folder for its owner alone", async () => {
    putOldStore();
    await restore(backup);
    expect(statSync(beforeFolder()).mode & 0o777).toBe(0o700);
  });

  test("leaves no WAL of the old store", async () => {
    putCrashedStore();
    await restore(backup);
    expect(existsSync(`${folder.dataFile}-wal`)).toBe(false);
  });

  test("prints the one command that goes back, which works", async () => {
    putCrashedStore();
    const { err } = await restore(backup);
    const command = / {2}plant-store (restore \S+ --replace --database \S+)\n$/.exec(err)?.[1] ?? "";
    expect((await runInProcess(command.split(" "))).code).toBe(0);
    expect(namesIn(folder.dataFile)).toEqual(["fern", "fern", "fern"]);
  });

  test("works a second time", async () => {
    putOldStore();
    expect((await restore(backup)).code).toBe(0);
    expect((await restore(backup)).code).toBe(0);
    expect(namesIn(folder.dataFile)).toEqual(["backed up"]);
  });

  test("keeps the mode of the old data file", async () => {
    putOldStore();
    chmodSync(folder.dataFile, 0o640);
    await restore(backup);
    expect(statSync(folder.dataFile).mode & 0o777).toBe(0o640);
  });

  test("gives the store a new id", async () => {
    putOldStore();
    await restore(backup);
    expect(storeIdOf(folder.dataFile)).not.toBe(storeIdOf(backup));
  });

  describe("of a store with other files beside its data file", () => {
    /** What is in the folders of the new store and of the old one afterwards. */
    const replacedStore = memoize(async () => {
      const path = made.newFolder();
      const dataFile = join(path, "plants.db");
      copyFileSync(madeOld, dataFile);
      recordLastBackup(dataFile, 1000);
      writeFileSync(`${dataFile}.first-token`, "secret");
      writeFileSync(`${dataFile}-journal`, emptyingJournal);
      writeMarker(dataFile, "replaced");
      const { code } = await runInProcess(["restore", madeBackup, "--replace", "--database", dataFile]);
      expect(code).toBe(0);
      return { new: readdirSync(path), old: readdirSync(beforeFolder(path)) };
    });

    test.each([
      ["the record of the last backup", "plants.db.last-backup.json"],
      ["the first token", "plants.db.first-token"],
      ["a journal", "plants.db-journal"],
      ["the failure marker", "plants.db.failure.json"],
    ])("puts %s into the folder of the old store", async (_, name) => {
      expect((await replacedStore()).old).toContain(name);
    });

    test("leaves the new store without a failure marker", async () => {
      expect((await replacedStore()).new).not.toContain("plants.db.failure.json");
    });

    test("leaves the new store without a first token", async () => {
      expect((await replacedStore()).new).not.toContain("plants.db.first-token");
    });
  });

  test("warns if only the record of the backup cannot be written", async () => {
    putOldStore();
    // It is in the way of the record, and not empty.
    mkdirSync(`${lastBackupFile(folder.dataFile)}.new/x`, { recursive: true });
    const { code, out, err } = await restore(backup, "--json");
    expect(err).toContain("This backup could not be recorded: ");
    expect(err).not.toContain("Internal error");
    expect(code).toBe(0);
    expect(JSON.parse(out)).not.toContainKey("unrecorded");
    expect(namesIn(folder.dataFile)).toEqual(["backed up"]);
  });

  test.each([
    ["in its name", "plants-2026-11-15T02-00-00-000Z.db", "2026-11-15T02:00:00.000Z"],
    ["of its file", "plants.backup", "2026-10-01T00:00:00.000Z"],
  ])("records the backup with the time %s", async (_, name, time) => {
    const named = join(folder.path, name);
    renameSync(backup, named);
    utimesSync(named, new Date(time), new Date("2026-10-01T00:00:00Z"));
    putOldStore();
    await restore(named);
    expect(await readLastBackup(folder.dataFile)).toMatchObject({ atMs: Date.parse(time) });
  });

  test("without an old store is a plain restore", async () => {
    const { code, err } = await restore(backup);
    expect(code).toBe(0);
    expect(err).not.toContain("before");
    expect(readdirSync(folder.path).sort()).toEqual(["plants.db", "plants.db.lock"]);
    expect(existsSync(lastBackupFile(folder.dataFile))).toBe(false);
  });

  test("has the folder in its JSON", async () => {
    putOldStore();
    const { out } = await restore(backup, "--json");
    expect(JSON.parse(out)).toMatchObject({ plants: 1, before: beforeFolder() });
  });

  test("is refused while a service runs", async () => {
    await using _service = await startTestService({ database: folder.dataFile });
    const { code, err } = await restore(backup);
    expect(err).toContain("is in use: another plant-store process writes to it");
    expect(code).toBe(1);
  });

  test("changes nothing while a service runs", async () => {
    await using _service = await startTestService({ database: folder.dataFile });
    const before = readdirSync(folder.path);
    await restore(backup);
    expect(readdirSync(folder.path)).toEqual(before);
  });

  test.each([
    ["that does not match its checksum", () => {}],
    ["without a checksum", () => rmSync(`${backup}.sha256`)],
  ])("leaves the old store if the backup is a damaged one %s", async (_, change) => {
    putOldStore();
    writeFileSync(backup, readFileSync(backup).fill(0, 8192, 12_288));
    change();
    expect((await restore(backup)).code).toBe(1);
    expect(namesIn(folder.dataFile)).toEqual(["old"]);
  });

  test("takes the place of a store that has lost its WAL", async () => {
    putCrashedStore();
    rmSync(`${folder.dataFile}-wal`);
    expect((await restore(backup)).code).toBe(0);
    expect(namesIn(folder.dataFile)).toEqual(["backed up"]);
  });

  test("takes the place of a data file that cannot be read", async () => {
    writeFileSync(folder.dataFile, "not a database");
    expect((await restore(backup)).code).toBe(0);
    expect(namesIn(folder.dataFile)).toEqual(["backed up"]);
  });

  test("first finishes what an interrupted one has begun, so that its old store stays in its folder", async () => {
    putOldStore();
    await restore(backup);
    // As if that one had been interrupted before it moved the old files.
    const first = beforeFolder();
    renameSync(folder.dataFile, rebuiltFile(folder.dataFile));
    renameSync(join(first, "plants.db"), folder.dataFile);
    const name = first.slice(folder.path.length + 1);
    writeMarker(folder.dataFile, "rebuilt", { ...contentsOf(rebuiltFile(folder.dataFile)), folder: name });
    expect((await restore(backup)).code).toBe(0);
    expect(namesIn(join(first, "plants.db"))).toEqual(["old"]);
    expect(namesIn(folder.dataFile)).toEqual(["backed up"]);
  });

  describe("of a store beside a copy that its marker does not describe", () => {
    async function replaceWithCopy(): Promise<void> {
      putOldStore();
      writeFileSync(rebuiltFile(folder.dataFile), "another file");
      writeMarker(folder.dataFile, "rebuilt", { bytes: 1, plants: 1, digest: null, folder: undefined });
      expect((await restore(backup)).code).toBe(0);
    }

    test("puts the backup in the place of the old store", async () => {
      await replaceWithCopy();
      expect(namesIn(folder.dataFile)).toEqual(["backed up"]);
    });

    test("puts the copy into the folder of the old store", async () => {
      await replaceWithCopy();
      expect(readFileSync(join(beforeFolder(), "plants.db.rebuilt"), "utf8")).toBe("another file");
      expect(namesIn(join(beforeFolder(), "plants.db"))).toEqual(["old"]);
    });
  });

  test.skipIf(lacksMounts())("is refused without a change on a disk that has no room for it", async () => {
    const disk = join(folder.path, "disk");
    mkdirSync(disk);
    putOldStore();
    const args = ["restore", backup, "--replace", "--database", `${disk}/plants.db`];
    const script = `mount -t tmpfs -o size=200k none ${disk} && cp ${folder.dataFile} ${disk}/plants.db && head -c 100000 /dev/zero > ${disk}/filler && "$@"; ls ${disk}`;
    const shell = unshareArguments(script, args);
    const { stdout, stderr } = spawnSync("unshare", shell, { encoding: "utf8" });
    expect(stderr).toMatch(/has \d+ kB free, and the restored data file needs [\d.]+ [kM]B: /);
    expect(stdout.trim().split("\n")).toEqual(["filler", "plants.db", "plants.db.lock"]);
  });
});

describe("restore after an interrupted restore --replace", () => {
  const restoreNew = () => runInProcess(["restore", backup, "--database", folder.dataFile]);

  /** Interrupted after the old files were moved: the copy is complete, and there is no data file. */
  async function interrupted(): Promise<void> {
    await storeOf(rebuiltFile(folder.dataFile), ["restored"]);
    const copy = contentsOf(rebuiltFile(folder.dataFile));
    writeMarker(folder.dataFile, "rebuilt", { ...copy, folder: "plants.db.before-it" });
  }

  test("is refused with the sentence of the other commands", async () => {
    await interrupted();
    const { code, err } = await restoreNew();
    const list = await runInProcess(["list", "--database", folder.dataFile]);
    expect(err).toContain("that was interrupted: start the service on it once to finish that.");
    expect(err).toBe(list.err);
    expect(code).toBe(1);
  });

  test("leaves the copy to the next start", async () => {
    await interrupted();
    await restoreNew();
    openAsNextStart(folder.dataFile);
    expect(namesIn(folder.dataFile)).toEqual(["restored"]);
  });

  test("needs no start if the copy is gone, as a start has nothing to finish", async () => {
    await interrupted();
    rmSync(rebuiltFile(folder.dataFile));
    expect((await restoreNew()).code).toBe(0);
    expect(readMarker(folder.dataFile)).toBeUndefined();
    expect(namesIn(folder.dataFile)).toEqual(["backed up"]);
  });
});

test.skipIf(lacksMounts())("restore --replace refuses a data file that is mounted by itself", async () => {
  putOldStore();
  const args = ["restore", backup, "--replace", "--database", folder.dataFile];
  const shell = unshareArguments(`mount --bind ${folder.dataFile} ${folder.dataFile} && "$@"`, args);
  const { status, stderr } = spawnSync("unshare", shell, { encoding: "utf8" });
  expect(stderr).toContain("is mounted by itself");
  expect(status).toBe(1);
  expect(namesIn(folder.dataFile)).toEqual(["old"]);
});

describe("restore --replace with the data file itself", () => {
  describe("that has lost its WAL", () => {
    beforeEach(putStoreWithoutWal);

    test("accepts it with a warning", async () => {
      const { code, err } = await restore(folder.dataFile);
      expect(err).toContain("it lacks the plants that were only there");
      expect(code).toBe(0);
    });

    test("leaves a data file that is opened, with what it had", async () => {
      await restore(folder.dataFile);
      openAsNextStart(folder.dataFile);
      expect(storedPlants(folder.dataFile)).toHaveLength(3);
    });

    test("gives it a new store id", async () => {
      const before = storeIdOf(folder.dataFile);
      await restore(folder.dataFile);
      expect(storeIdOf(folder.dataFile)).not.toBe(before);
    });

    test("marks it as closed", async () => {
      await restore(folder.dataFile);
      expect(readUseWithoutWal(folder.dataFile)).toBe("closed");
    });

    test("leaves no folder with an old store", async () => {
      await restore(folder.dataFile);
      expect(readdirSync(folder.path).filter((name) => name.includes(".before-"))).toEqual([]);
    });
  });

  test("accepts a copy that SQLite made of a running service's file", async () => {
    const source = join(folder.path, "running.db");
    await using store = new SqliteStore(source);
    await store.plants.create([testPlant(1)], 1);
    {
      using database = new Database(source, { readonly: true });
      database.run("VACUUM INTO ?", [folder.dataFile]);
    }
    expect(() => openForWriting(folder.dataFile)).toThrow("it lacks the plants");
    expect((await restore(folder.dataFile)).code).toBe(0);
    openAsNextStart(folder.dataFile);
    expect(namesIn(folder.dataFile)).toEqual(["fern"]);
  });

  test("refuses a damaged one", async () => {
    putStoreWithoutWal();
    const bytes = readFileSync(folder.dataFile);
    writeFileSync(folder.dataFile, bytes.fill(0, 4096, 8192));
    expect((await restore(folder.dataFile)).code).toBe(1);
    expect(readFileSync(folder.dataFile).equals(bytes)).toBe(true);
  });

  test("accepts the file that replaced the store's own, without the WAL of that", async () => {
    putCrashedStore();
    const wal = readFileSync(`${folder.dataFile}-wal`);
    await storeOf(join(folder.path, "other.db"), ["other"]);
    renameSync(join(folder.path, "other.db"), folder.dataFile);
    writeMarker(folder.dataFile, "replaced");
    expect((await restore(folder.dataFile)).code).toBe(0);
    expect(readMarker(folder.dataFile)).toBeUndefined();
    expect(namesIn(folder.dataFile)).toEqual(["other"]);
    expect(readFileSync(join(beforeFolder(), "plants.db-wal")).equals(wal)).toBe(true);
  });

  describe("that replaced the store's own and is damaged", () => {
    beforeEach(() => {
      putCrashedStore();
      const other = join(folder.path, "other.db");
      seedStore(other, { plants: 60 });
      damageIdIndex(other);
      renameSync(other, folder.dataFile);
      writeMarker(folder.dataFile, "replaced");
    });

    test("names the file, and the folder that has the WAL now", async () => {
      const { code, err } = await restore(folder.dataFile);
      expect(err).toStartWith(
        `plant-store: ${folder.dataFile} is damaged: the index of ids does not lead to the plant with seq 1`,
      );
      expect(err).toEndWith(`; restore it from a backup. Its WAL was moved to ${beforeFolder()}.\n`);
      expect(code).toBe(1);
    });

    test("leaves it refused by the next start", async () => {
      await restore(folder.dataFile);
      expect(() => openForWriting(folder.dataFile)).toThrow("was deleted, replaced or overwritten");
    });

    test("refuses it again, and makes no second folder", async () => {
      await restore(folder.dataFile);
      const { code, err } = await restore(folder.dataFile);
      expect(err).toEndWith("; restore it from a backup.\n");
      expect(code).toBe(1);
      expect(existsSync(join(beforeFolder(), "plants.db-wal"))).toBe(true);
    });
  });

  test("leaves the marker of a failed fsync to the next start", async () => {
    putStoreWithoutWal();
    writeMarker(folder.dataFile, "sync-failed");
    expect((await restore(folder.dataFile)).code).toBe(0);
    expect(readMarker(folder.dataFile)).toBe("sync-failed");
    openAsNextStart(folder.dataFile);
    expect(storedPlants(folder.dataFile)).toHaveLength(3);
  });
});
