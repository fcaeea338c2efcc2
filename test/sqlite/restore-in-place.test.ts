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
import { instantSleeps } from "../support/clock.ts";
import { unshareArguments } from "../support/command.ts";
import { crashedStore, emptyingJournal } from "../support/crashed-store.ts";
import { damageIdIndex } from "../support/damaged-index.ts";
import { useFolderForEachTest } from "../support/folder-for-each-test.ts";
import { lacksMounts } from "../support/lacks.ts";
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
  test("moves a crashed store into one folder, and puts the backup in its place", async () => {
    putCrashedStore();
    chmodSync(folder.dataFile, 0o640);
    const wal = readFileSync(`${folder.dataFile}-wal`);
    const { code, err } = await restore(backup);
    expect(code).toBe(0);
    expect(err).toStartWith("Restored and checked 1 plant: ");
    expect(existsSync(`${folder.dataFile}-wal`)).toBe(false);
    expect(statSync(folder.dataFile).mode & 0o777).toBe(0o640);
    expect(storeIdOf(folder.dataFile)).not.toBe(storeIdOf(backup));
    expect(statSync(beforeFolder()).mode & 0o777).toBe(0o700);
    expect(readFileSync(join(beforeFolder(), "plants.db-wal")).equals(wal)).toBe(true);
    expect(storedPlants(join(beforeFolder(), "plants.db"))).toHaveLength(3);
    openAsNextStart(folder.dataFile);
    expect(namesIn(folder.dataFile)).toEqual(["backed up"]);
  });

  test("prints the one command that goes back, which works", async () => {
    putCrashedStore();
    const { err } = await restore(backup);
    const command = / {2}plant-store (restore \S+ --replace --database \S+)\n$/.exec(err)?.[1] ?? "";
    expect((await runInProcess(command.split(" "))).code).toBe(0);
    expect(namesIn(folder.dataFile)).toEqual(["fern", "fern", "fern"]);
  });

  test("moves what lies beside a closed store into the folder that its JSON names", async () => {
    putOldStore();
    recordLastBackup(folder.dataFile, 1000);
    writeFileSync(`${folder.dataFile}.first-token`, "secret");
    writeFileSync(`${folder.dataFile}-journal`, emptyingJournal);
    writeMarker(folder.dataFile, "replaced");
    const { out } = await restore(backup, "--json");
    expect(JSON.parse(out)).toMatchObject({ plants: 1, before: beforeFolder() });
    expect(readdirSync(beforeFolder()).sort()).toEqual([
      "plants.db",
      "plants.db-journal",
      "plants.db.failure.json",
      "plants.db.first-token",
      "plants.db.last-backup.json",
    ]);
    expect(readMarker(folder.dataFile)).toBeUndefined();
    expect(existsSync(`${folder.dataFile}.first-token`)).toBe(false);
    expect(namesIn(folder.dataFile)).toEqual(["backed up"]);
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

  test("is refused without a change while a service runs", async () => {
    await using _service = await startTestService({ database: folder.dataFile });
    const before = readdirSync(folder.path);
    using _sleeps = instantSleeps();
    const { code, err } = await restore(backup);
    expect(err).toContain("is in use: another plant-store process writes to it");
    expect(code).toBe(1);
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

  test.each([
    ["that has lost its WAL", putStoreWithoutWal],
    ["that cannot be read", () => writeFileSync(folder.dataFile, "not a database")],
  ])("takes the place of a data file %s", async (_, put) => {
    put();
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

  test("moves a copy that the marker does not describe into the folder of the old store", async () => {
    putOldStore();
    writeFileSync(rebuiltFile(folder.dataFile), "another file");
    writeMarker(folder.dataFile, "rebuilt", { bytes: 1, plants: 1, digest: null, folder: undefined });
    expect((await restore(backup)).code).toBe(0);
    expect(namesIn(folder.dataFile)).toEqual(["backed up"]);
    expect(readFileSync(join(beforeFolder(), "plants.db.rebuilt"), "utf8")).toBe("another file");
    expect(namesIn(join(beforeFolder(), "plants.db"))).toEqual(["old"]);
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

  test("is refused with the sentence of the other commands, and leaves the copy to the next start", async () => {
    await interrupted();
    const { code, err } = await restoreNew();
    const list = await runInProcess(["list", "--database", folder.dataFile]);
    expect(err).toContain("that was interrupted: start the service on it once to finish that.");
    expect(err).toBe(list.err);
    expect(code).toBe(1);
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
  test("gives one that has lost its WAL a new id and the mark of a closed one, with a warning", async () => {
    putStoreWithoutWal();
    const idBefore = storeIdOf(folder.dataFile);
    const { code, err } = await restore(folder.dataFile);
    expect(err).toContain("it lacks the plants that were only there");
    expect(code).toBe(0);
    expect(storeIdOf(folder.dataFile)).not.toBe(idBefore);
    expect(readUseWithoutWal(folder.dataFile)).toBe("closed");
    expect(readdirSync(folder.path).filter((name) => name.includes(".before-"))).toEqual([]);
    openAsNextStart(folder.dataFile);
    expect(storedPlants(folder.dataFile)).toHaveLength(3);
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

  test("refuses a damaged one that replaced the store's own, again and again", async () => {
    putCrashedStore();
    const other = join(folder.path, "other.db");
    seedStore(other, { plants: 60 });
    damageIdIndex(other);
    renameSync(other, folder.dataFile);
    writeMarker(folder.dataFile, "replaced");
    const first = await restore(folder.dataFile);
    expect(first.err).toStartWith(
      `plant-store: ${folder.dataFile} is damaged: the index of ids does not lead to the plant with seq 1`,
    );
    expect(first.err).toEndWith(`; restore it from a backup. Its WAL was moved to ${beforeFolder()}.\n`);
    expect(first.code).toBe(1);
    expect(() => openForWriting(folder.dataFile)).toThrow("was deleted, replaced or overwritten");
    // It makes no second folder.
    const second = await restore(folder.dataFile);
    expect(second.err).toEndWith("; restore it from a backup.\n");
    expect(second.code).toBe(1);
    expect(existsSync(join(beforeFolder(), "plants.db-wal"))).toBe(true);
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
