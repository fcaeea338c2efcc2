import { afterAll, expect, test } from "bun:test";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { temporaryFolder } from "../../../../test/support/temporary-folder.ts";
import {
  lastBackupFile,
  readLastBackup,
  recordStore,
  whyStoreUnrecorded,
  whyUnrecorded,
} from "./last-backup.ts";

const folder = temporaryFolder();
afterAll(() => folder[Symbol.dispose]());
const digest = "0123456789abcdef".repeat(4);
const backup = { atMs: Date.UTC(2026, 10, 15), plants: 1500, coveredPlants: 1000, digest };

test("the record says that there is a store, then when its last backup was made and what it has", () => {
  const path = folder.newPath();
  recordStore(path);
  expect(readFileSync(lastBackupFile(path), "utf8")).toBe("{}\n");
  expect(readLastBackup(path)).toBeUndefined();
  expect(whyUnrecorded(path, backup)).toBeUndefined();
  // A later start leaves it as it is.
  recordStore(path);
  expect(readLastBackup(path)).toEqual(backup);
});

test("the record of a store whose folder vanished is written again", () => {
  const path = join(folder.newFolder(), "plants.db");
  rmSync(dirname(path), { recursive: true });
  expect(whyStoreUnrecorded(path)).toBeUndefined();
  expect(readFileSync(lastBackupFile(path), "utf8")).toBe("{}\n");
  writeFileSync(path, "");
  expect(whyStoreUnrecorded(join(path, "plants.db"))).toContain("cannot be created");
});

test("a record that cannot be written is reported", () => {
  const path = folder.newPath();
  mkdirSync(join(lastBackupFile(path), "in the way"), { recursive: true });
  expect(whyUnrecorded(path, backup)).toContain("it is a directory");
});

test("a record of 1.2.1 has the plants that its digest covers, and one that is malformed is none", () => {
  const path = folder.newPath();
  const at = "2026-11-15T00:00:00.000Z";
  const read = (record: unknown) => {
    writeFileSync(lastBackupFile(path), JSON.stringify(record));
    return readLastBackup(path);
  };
  expect(read({ at, coveredPlants: 1000, digest })).toEqual({ ...backup, plants: 1000 });
  expect(read({ at })).toEqual({ ...backup, plants: 0, coveredPlants: 0, digest: null });
  expect(read({ at, plants: 3, coveredPlants: 2, digest: "short" })).toMatchObject({
    plants: 3,
    digest: null,
  });
  expect(read({ at: "yesterday", plants: 3 })).toBeUndefined();
  expect(read([])).toBeUndefined();
  writeFileSync(lastBackupFile(path), "half of it");
  expect(readLastBackup(path)).toBeUndefined();
});
