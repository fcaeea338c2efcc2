// restore --replace: the backup takes the place of the store, which is moved aside.
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
import {
  markerFile,
  readMarker,
  whyFailureUnrecorded,
} from "../../src/storage/sqlite/data-file/failure-marker.ts";
import { lastBackupFile, readLastBackup } from "../../src/storage/sqlite/data-file/last-backup.ts";
import { openForWriting } from "../../src/storage/sqlite/opening/open-for-writing.ts";
import { openWithoutWal } from "../../src/storage/sqlite/opening/open-read-only.ts";
import { foldersOfOld } from "../../src/storage/sqlite/opening/swap.ts";
import { SqliteStore } from "../../src/storage/sqlite/sqlite-store.ts";
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
  using database = openWithoutWal(path);
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
    writeFileSync(`${folder.dataFile}.first-token`, "secret");
    writeFileSync(`${folder.dataFile}-journal`, emptyingJournal);
    whyFailureUnrecorded(folder.dataFile, "overwritten");
    const { out } = await restore(backup, "--json");
    expect(JSON.parse(out)).toMatchObject({ plants: 1, before: beforeFolder() });
    expect(readdirSync(beforeFolder()).sort()).toEqual([
      "plants.db",
      "plants.db-journal",
      "plants.db.first-token",
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
    expect(readLastBackup(folder.dataFile)).toMatchObject({ atMs: Date.parse(time) });
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

describe("restore --replace that was interrupted after the copy took the place of the old file", () => {
  /** The old WAL is beside the copy, and the old data file in its dated folder. */
  async function interrupted(): Promise<string> {
    putCrashedStore();
    expect((await restore(backup)).code).toBe(0);
    const old = beforeFolder();
    renameSync(join(old, "plants.db-wal"), `${folder.dataFile}-wal`);
    return old;
  }

  test("is refused by a start with the command that completes it, after which both stores are whole", async () => {
    const old = await interrupted();
    const command = `mv ${folder.dataFile}-wal ${old}/`;
    expect(() => openForWriting(folder.dataFile)).toThrow(`move that WAL away: \`${command}\`.`);
    expect(spawnSync("sh", ["-c", command]).status).toBe(0);
    openAsNextStart(folder.dataFile);
    expect(namesIn(folder.dataFile)).toEqual(["backed up"]);
    expect(storedPlants(join(old, "plants.db"))).toHaveLength(3);
  });

  test("is completed by the same command again, after which both stores are whole", async () => {
    const old = await interrupted();
    expect((await restore(backup)).code).toBe(0);
    openAsNextStart(folder.dataFile);
    expect(namesIn(folder.dataFile)).toEqual(["backed up"]);
    expect(storedPlants(join(old, "plants.db"))).toHaveLength(3);
  });
});

test("the WAL of a crashed store under a copied backup is moved to none of the stores that were replaced before", async () => {
  putOldStore();
  await restore(backup);
  putStoreWithoutWal();
  // So that it gets a folder of its own.
  const [first = ""] = foldersOfOld(folder.dataFile);
  renameSync(first, `${folder.dataFile}.before-2026-11-15T02-00-00-000Z`);
  expect((await restore(folder.dataFile)).code).toBe(0);
  putCrashedStore();
  const { atime, mtime } = statSync(`${folder.dataFile}-wal`);
  utimesSync(`${folder.dataFile}-wal`, atime, new Date(mtime.getTime() + 1000));
  copyFileSync(backup, folder.dataFile);
  expect(() => openForWriting(folder.dataFile)).toThrow(
    `mv ${folder.dataFile}-wal ${folder.dataFile}.other-wal/`,
  );
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
  test("makes one that has lost its WAL a new store, with a warning, and keeps it", async () => {
    putStoreWithoutWal();
    const before = readFileSync(folder.dataFile);
    const { code, err } = await restore(folder.dataFile);
    expect(err).toContain("it lacks the plants that were only there");
    expect(code).toBe(0);
    expect(readFileSync(join(beforeFolder(), "plants.db")).equals(before)).toBe(true);
    expect(storeIdOf(folder.dataFile)).not.toBe(storeIdOf(join(beforeFolder(), "plants.db")));
    openAsNextStart(folder.dataFile);
    expect(storedPlants(folder.dataFile)).toHaveLength(3);
  });

  test("refuses a damaged one", async () => {
    putStoreWithoutWal();
    const bytes = readFileSync(folder.dataFile);
    writeFileSync(folder.dataFile, bytes.fill(0, 4096, 8192));
    expect((await restore(folder.dataFile)).code).toBe(1);
    expect(readFileSync(folder.dataFile).equals(bytes)).toBe(true);
    expect(foldersOfOld(folder.dataFile)).toEqual([]);
  });

  test("accepts the file that replaced the store's own, without the WAL of that", async () => {
    putCrashedStore();
    const wal = readFileSync(`${folder.dataFile}-wal`);
    await storeOf(join(folder.path, "other.db"), ["other"]);
    renameSync(join(folder.path, "other.db"), folder.dataFile);
    whyFailureUnrecorded(folder.dataFile, "overwritten");
    expect((await restore(folder.dataFile)).code).toBe(0);
    expect(readMarker(folder.dataFile)).toBeUndefined();
    expect(namesIn(folder.dataFile)).toEqual(["other"]);
    expect(readFileSync(join(beforeFolder(), "plants.db-wal")).equals(wal)).toBe(true);
  });

  test("refuses a damaged one that replaced the store's own, and changes nothing", async () => {
    putCrashedStore();
    const wal = readFileSync(`${folder.dataFile}-wal`);
    const other = join(folder.path, "other.db");
    seedStore(other, { plants: 60 });
    damageIdIndex(other);
    renameSync(other, folder.dataFile);
    whyFailureUnrecorded(folder.dataFile, "overwritten");
    const { code, err } = await restore(folder.dataFile);
    expect(err).toContain(`The copy of ${folder.dataFile} is damaged: row 1 missing from index`);
    expect(code).toBe(1);
    expect(() => openForWriting(folder.dataFile)).toThrow("overwritten while the service ran");
    expect(readFileSync(`${folder.dataFile}-wal`).equals(wal)).toBe(true);
    expect(foldersOfOld(folder.dataFile)).toEqual([]);
  });

  test("after a failed fsync is the copy that a start would make", async () => {
    putCrashedStore();
    whyFailureUnrecorded(folder.dataFile, "sync-failed");
    expect((await restore(folder.dataFile)).code).toBe(0);
    expect(existsSync(markerFile(folder.dataFile))).toBe(false);
    expect(openAsNextStart(folder.dataFile)).toEqual({ rebuilt: false });
    expect(storedPlants(folder.dataFile)).toHaveLength(3);
    expect(storedPlants(join(beforeFolder(), "plants.db"))).toHaveLength(3);
  });
});
