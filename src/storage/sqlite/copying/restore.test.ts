// What a restore keeps out while it runs, and what it refuses. What the command does is in test/sqlite/restore.test.ts and
// restore-in-place.test.ts.

import { Database } from "bun:sqlite";
import { afterAll, beforeAll, expect, test } from "bun:test";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { caught } from "../../../../test/support/caught.ts";
import { crashedStore } from "../../../../test/support/crashed-store.ts";
import { seedStore } from "../../../../test/support/seeded-store.ts";
import { missingIn, storedPlants } from "../../../../test/support/stored-plants.ts";
import { temporaryFolder } from "../../../../test/support/temporary-folder.ts";
import type { OnStep } from "../../../plants/plant-backups.ts";
import { Problem } from "../../../system/problem.ts";
import { readMarker, whyFailureUnrecorded } from "../data-file/failure-marker.ts";
import { lastBackupFile } from "../data-file/last-backup.ts";
import { hasWriter } from "../data-file/writer-lock.ts";
import { openForWriting } from "../opening/open-for-writing.ts";
import { foldersOfOld } from "../opening/swap.ts";
import { writeBackup } from "./backup.ts";
import { restoreDataFile } from "./restore.ts";

const folder = temporaryFolder();
const store = folder.newPath();
const backup = join(folder.newFolder(), "plants-2026-11-15T02-00-00-000Z.db");
const crashed = folder.newPath();
afterAll(() => folder[Symbol.dispose]());
beforeAll(async () => {
  seedStore(store, { plants: 3 });
  await writeBackup(store, backup);
  await crashedStore(crashed, 6);
});

/** A data file as a kill leaves it. */
function newCrashed(ends = ["", "-wal"]): string {
  const path = join(folder.newFolder(), "plants.db");
  for (const end of ends) copyFileSync(crashed + end, path + end);
  return path;
}

/** Restores, and returns what it warned of. */
async function restore(from: string, path: string, onStep: OnStep = () => {}): Promise<string[]> {
  const warnings: string[] = [];
  await restoreDataFile(from, path, { replace: true, warn: (sentence) => warnings.push(sentence), onStep });
  return warnings;
}

test("no service can start on the data file during a restore, where there was none or in the place of one", async () => {
  for (const path of [folder.newPath(), newCrashed()]) {
    const locked = new Map<string, boolean>();
    await restore(backup, path, ({ doing }) => locked.set(doing, hasWriter(path)));
    expect(locked.get("copying")).toBe(true);
    expect(locked.get("checking the rows of the copy of")).toBe(true);
    expect(hasWriter(path)).toBe(false);
    openForWriting(path)[Symbol.dispose]();
    expect(storedPlants(path)).toHaveLength(3);
  }
});

test("a restore in the place of a store keeps its files, and claims no backup", async () => {
  const path = newCrashed();
  whyFailureUnrecorded(path, "overwritten");
  writeFileSync(lastBackupFile(path), "{}\n");
  expect(await restore(backup, path)).toEqual([]);
  const [old = ""] = foldersOfOld(path);
  for (const end of ["", "-wal"])
    expect(readFileSync(join(old, basename(path) + end)).equals(readFileSync(crashed + end))).toBe(true);
  expect(existsSync(`${path}-wal`)).toBe(false);
  expect(readMarker(path)).toBeUndefined();
  expect(existsSync(lastBackupFile(path))).toBe(false);
  expect(existsSync(join(old, basename(lastBackupFile(path))))).toBe(true);
});

test("a plain restore is another store: its id is new, and it has had no backup of its own", async () => {
  const path = join(folder.newFolder(), "plants.db");
  writeFileSync(lastBackupFile(path), "{}\n");
  await restore(backup, path);
  expect(readdirSync(dirname(path)).sort()).toEqual(["plants.db", "plants.db.lock"]);
  const idOf = (file: string) => {
    using database = new Database(file, { readonly: true });
    return database.query("SELECT id FROM store_id").values();
  };
  expect(idOf(path)).toHaveLength(1);
  expect(idOf(path)).not.toEqual(idOf(backup));
});

test("a data file is accepted as it is: with its WAL, without one that was lost, and without that of another file", async () => {
  const path = newCrashed();
  expect(await restore(path, path)).toEqual([]);
  expect(missingIn(path, [1, 2, 3, 4, 5, 6])).toEqual([]);

  const lost = newCrashed([""]);
  expect(await restore(lost, lost)).toEqual([
    expect.stringMatching(/: it lacks the plants that were only there\.$/),
  ]);

  const unsynced = newCrashed();
  whyFailureUnrecorded(unsynced, "sync-failed");
  expect(await restore(unsynced, unsynced)).toEqual([]);
  expect(readMarker(unsynced)).toBeUndefined();
  expect(missingIn(unsynced, [1, 2, 3, 4, 5, 6])).toEqual([]);

  const foreign = newCrashed();
  copyFileSync(backup, foreign);
  expect(await restore(foreign, foreign)).toEqual([
    `${foreign}-wal is not applied: it does not belong to this file.`,
  ]);
  expect(storedPlants(foreign)).toHaveLength(3);

  // A checkpoint that had begun may have written page 1 over a copy, which then is one that takes the WAL.
  const overwritten = newCrashed();
  copyFileSync(store, overwritten);
  whyFailureUnrecorded(overwritten, "overwritten");
  expect(await restore(overwritten, overwritten)).toHaveLength(1);
  expect(storedPlants(overwritten)).toHaveLength(3);
});

test("a backup that is damaged is refused, with the advice to use another one, and nothing is changed", async () => {
  const broken = folder.newCopy(backup);
  const bytes = readFileSync(broken);
  writeFileSync(broken, bytes.fill(0xff, 4096, 8192));
  const path = newCrashed();
  const error = await caught(restore(broken, path));
  expect(error).toBeInstanceOf(Problem);
  expect(readFileSync(path).equals(readFileSync(crashed))).toBe(true);
  rmSync(`${path}.lock`);
  expect(readdirSync(dirname(path)).sort()).toEqual(["plants.db", "plants.db-wal"]);
  // The same file, in the place of the store's own.
  writeFileSync(path, readFileSync(broken));
  whyFailureUnrecorded(path, "overwritten");
  expect(await caught(restore(path, path))).toBeInstanceOf(Problem);
  expect(readMarker(path)).toBe("overwritten");
  expect(foldersOfOld(path)).toEqual([]);
});

test.each<[how: string, harm: (bytes: Buffer) => Uint8Array]>([
  ["truncated within its last page, which SQLite does not notice", (bytes) => bytes.subarray(0, -2048)],
  ["with a schema of zeros", (bytes) => bytes.fill(0, 100, 4096)],
  ["that SQLite cannot open at all", (bytes) => bytes.fill(0xff, 100, 4096)],
])("a backup %s is refused in one sentence, and another one is needed", async (_, harm) => {
  const broken = folder.newCopy(backup);
  writeFileSync(broken, harm(readFileSync(broken)));
  const path = folder.newPath();
  const { message } = (await caught(restore(broken, path))) as Problem;
  expect(message).toContain(broken);
  expect(message).toMatch(/restore a sound backup\.$/);
  expect(message).not.toContain("restore it from");
  expect(existsSync(path)).toBe(false);
});

test("a source with a damaged WAL is refused, and a folder", async () => {
  const ofFolder = await caught(restore(folder.path, folder.newPath()));
  expect(String(ofFolder)).toContain(`${folder.path} is a folder; name a file in it`);
  const from = newCrashed();
  const wal = readFileSync(`${from}-wal`);
  wal[1000] = (wal[1000] ?? 0) ^ 1;
  writeFileSync(`${from}-wal`, wal);
  expect(String(await caught(restore(from, folder.newPath())))).toMatch(/-wal is damaged at frame \d+/);
});

test("what the system reports about the file that a restore writes is a problem of one sentence", async () => {
  const path = folder.newPath();
  mkdirSync(join(`${path}.replacement`, "in the way"), { recursive: true });
  const error = await caught(restore(backup, path));
  expect(error).toBeInstanceOf(Problem);
  expect(String(error)).toContain(`${path}.replacement`);
});
