// restore --replace: the backup takes the place of the store, which is moved aside.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { readMarker, whyFailureUnrecorded } from "../../src/storage/sqlite/data-file/failure-marker.ts";
import { lastBackupFile } from "../../src/storage/sqlite/data-file/last-backup.ts";
import { openForWriting } from "../../src/storage/sqlite/opening/open-for-writing.ts";
import { foldersOfOld } from "../../src/storage/sqlite/opening/swap.ts";
import { SqliteStore } from "../../src/storage/sqlite/sqlite-store.ts";
import { unshareArguments } from "../support/command.ts";
import { crashedStore, emptyingJournal } from "../support/crashed-store.ts";
import { useFolderForEachTest } from "../support/folder-for-each-test.ts";
import { lacksMounts } from "../support/lacks.ts";
import { openAsNextStart } from "../support/next-start.ts";
import { storedPlants, testPlant } from "../support/stored-plants.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { runInProcess } from "../support/terminal.ts";

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
/** The one folder with what was there before. */
function beforeFolder(path = folder.path): string {
  const found = readdirSync(path).filter((name) => name.startsWith("plants.db.before-"));
  expect(found).toHaveLength(1);
  return join(path, found[0] ?? "");
}

describe("restore --replace", () => {
  test("moves a crashed store into one folder, and prints the one command that goes back", async () => {
    putCrashedStore();
    const { code, err } = await restore(backup);
    expect(code).toBe(0);
    expect(err).toStartWith("Restored and checked 1 plant: ");
    expect(statSync(beforeFolder()).mode & 0o777).toBe(0o700);
    openAsNextStart(folder.dataFile);
    expect(namesIn(folder.dataFile)).toEqual(["backed up"]);
    const command = / {2}plant-store (restore \S+ --replace --database \S+)\n$/.exec(err)?.[1] ?? "";
    expect((await runInProcess(command.split(" "))).code).toBe(0);
    expect(namesIn(folder.dataFile)).toEqual(["fern", "fern", "fern"]);
  });

  test("moves what lies beside a closed store into the folder that its JSON names", async () => {
    putOldStore();
    writeFileSync(`${folder.dataFile}.first-token`, "secret");
    writeFileSync(`${folder.dataFile}-journal`, emptyingJournal);
    whyFailureUnrecorded(folder.dataFile, "overwritten");
    writeFileSync(lastBackupFile(folder.dataFile), "{}");
    const { code, out } = await restore(backup, "--json");
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({ plants: 1, before: beforeFolder() });
    expect(readdirSync(beforeFolder()).sort()).toEqual([
      "plants.db",
      "plants.db-journal",
      "plants.db.first-token",
      "plants.db.last-backup.json",
    ]);
    expect(readMarker(folder.dataFile)).toBeUndefined();
    expect(existsSync(`${folder.dataFile}.first-token`)).toBe(false);
    expect(namesIn(folder.dataFile)).toEqual(["backed up"]);
  });

  test("takes the place of a data file that has lost its WAL, and of one that cannot be read", async () => {
    for (const put of [putStoreWithoutWal, () => writeFileSync(folder.dataFile, "not a database")]) {
      put();
      expect((await restore(backup)).code).toBe(0);
      expect(namesIn(folder.dataFile)).toEqual(["backed up"]);
    }
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

test("restore --replace that was interrupted after the swap is completed by the same command again", async () => {
  putCrashedStore();
  await restore(backup);
  const old = beforeFolder();
  renameSync(join(old, "plants.db-wal"), `${folder.dataFile}-wal`);
  expect((await restore(backup)).code).toBe(0);
  openAsNextStart(folder.dataFile);
  expect(namesIn(folder.dataFile)).toEqual(["backed up"]);
  expect(storedPlants(join(old, "plants.db"))).toHaveLength(3);
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
  expect(() => openForWriting(folder.dataFile)).toThrow("`mkdir ");
});
