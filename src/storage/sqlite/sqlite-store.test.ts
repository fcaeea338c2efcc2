import { Database } from "bun:sqlite";
import { expect, spyOn, test } from "bun:test";
import * as fs from "node:fs";
import { existsSync, readFileSync, renameSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { caught } from "../../../test/support/caught.ts";
import { lacksDescriptors, openDescriptors } from "../../../test/support/open-descriptors.ts";
import { auditEntry } from "../../../test/support/open-engine-store.ts";
import { createEmptyStore } from "../../../test/support/seeded-store.ts";
import { testPlant } from "../../../test/support/stored-plants.ts";
import { temporaryFolder } from "../../../test/support/temporary-folder.ts";
import { StoreUnavailable } from "../../plants/plant-store.ts";
import { Problem } from "../../system/problem.ts";
import { type Failure, readMarker } from "./data-file/failure-marker.ts";
import { lastBackupFile } from "./data-file/last-backup.ts";
import { readUseWithoutWal } from "./data-file/store-use.ts";
import { hasWriter } from "./data-file/writer-lock.ts";
import { openForWriting } from "./opening/open-for-writing.ts";
import { SqliteAudit } from "./sqlite-audit.ts";
import { SqliteStore } from "./sqlite-store.ts";
import { Writer } from "./writing/writer.ts";

function emptyStore(path: string): string {
  createEmptyStore(path);
  return path;
}

/** A data file with an index that calls a function of an extension, which only the operator's own sqlite3 has loaded. */
function storeWithUnknownFunction(path: string): void {
  createEmptyStore(path);
  {
    using database = new Database(path);
    database.run("CREATE INDEX by_name ON plants (lower(name))");
  }
  const bytes = readFileSync(path);
  bytes.write("(their(name))", bytes.indexOf("(lower(name))"));
  writeFileSync(path, bytes);
}

test("a store that cannot prepare its statements is not opened, and leaves nothing behind", () => {
  using folder = temporaryFolder();
  const path = join(folder.path, "plants.db");
  storeWithUnknownFunction(path);
  // A thread would open its files after the lock is released.
  using started = spyOn(globalThis, "Worker");
  const open = () => new SqliteStore(path);
  expect(open).toThrow(Problem);
  expect(open).toThrow("cannot be used: unknown function: their()");
  expect(started).not.toHaveBeenCalled();
  expect(hasWriter(path)).toBe(false);
  expect(readUseWithoutWal(path)).toBe("closed");
  if (!lacksDescriptors()) expect(openDescriptors(path)).toBe(0);
});

test.skipIf(lacksDescriptors())("a store that cannot open its files to watch them leaves none open", () => {
  using folder = temporaryFolder();
  const path = join(folder.path, "plants.db");
  const { openSync } = fs;
  using _spy = spyOn(fs, "openSync").mockImplementation((file, ...rest) => {
    if (file === `${path}-shm`) throw new Error("EMFILE: too many open files");
    return openSync(file, ...rest);
  });
  expect(() => new SqliteStore(path)).toThrow("EMFILE");
  expect(openDescriptors(path)).toBe(0);
  expect(openDescriptors(`${path}-wal`)).toBe(0);
});

test.each<[what: string, harm: (path: string) => void, isRecorded: boolean, marker: Failure | undefined]>([
  ["whose folder vanished", (path) => rmSync(dirname(path), { recursive: true }), true, undefined],
  [
    "that another file replaced",
    (path) => renameSync(emptyStore(`${path}.other`), path),
    true,
    "overwritten",
  ],
  ["that was overwritten", (path) => truncateSync(path, 4096), true, "overwritten"],
  ["whose -shm file vanished", (path) => rmSync(`${path}-shm`), false, undefined],
])("a store %s fails, and records what the next start must know", async (_, harm, isRecorded, marker) => {
  using folder = temporaryFolder();
  const path = join(folder.newFolder(), "plants.db");
  const store = new SqliteStore(path);
  const record = lastBackupFile(path);
  rmSync(record);
  harm(path);
  expect(await store.failure).toBeInstanceOf(Error);
  expect(existsSync(record)).toBe(isRecorded);
  expect(readMarker(path)).toBe(marker);
  await expect(store.plants.create([testPlant(1)], 1)).rejects.toBe(await store.failure);
  await store[Symbol.asyncDispose]();
});

test("the event loop turns while the audit trail is read, which may take long with a filter", async () => {
  using folder = temporaryFolder();
  await using store = new SqliteStore(join(folder.path, "plants.db"));
  let turned = false;
  setImmediate(() => {
    turned = true;
  });
  await store.audit.page(100, undefined, { actor: "nobody" });
  expect(turned).toBe(true);
});

// test/storage/audit.test.ts has only the first removal, with the limits of the service.
test("the oldest entries of a kind are removed again in a process that runs for long", async () => {
  using folder = temporaryFolder();
  using file = openForWriting(join(folder.path, "plants.db"));
  const { database } = file;
  const writer = new Writer(database, { afterCommit: () => {}, reportUnknown: (reason) => reason });
  const page = () => Promise.reject(new Error("nothing is read"));
  const audit = new SqliteAudit(database, page, writer, { ofEachKindMax: 3, perRemoval: 4 });
  const keptAfter = async (entries: number) => {
    for (let entry = 0; entry < entries; entry++) await audit.record(auditEntry("console.signed-in"));
    return database.query<{ seq: bigint }, []>("SELECT seq FROM audit_trail ORDER BY seq").all();
  };
  await audit.record(auditEntry("token.created"));
  expect((await keptAfter(3)).map(({ seq }) => Number(seq))).toEqual([1, 2, 3, 4]);
  expect((await keptAfter(1)).map(({ seq }) => Number(seq))).toEqual([1, 3, 4, 5]);
  expect((await keptAfter(4)).map(({ seq }) => Number(seq))).toEqual([1, 7, 8, 9]);
});

test("a store that is closed while a write waits for another process's lock refuses the write", async () => {
  using folder = temporaryFolder();
  const path = join(folder.path, "plants.db");
  const store = new SqliteStore(path);
  using other = new Database(path);
  other.run("BEGIN IMMEDIATE");
  const recorded = caught(store.audit.record(auditEntry("console.signed-in")));
  const closed = store[Symbol.asyncDispose]();
  other.run("ROLLBACK");
  await closed;
  expect(await recorded).toBeInstanceOf(StoreUnavailable);
});
