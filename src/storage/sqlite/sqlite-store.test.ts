import { Database } from "bun:sqlite";
import { expect, spyOn, test } from "bun:test";
import * as fs from "node:fs";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { caught } from "../../../test/support/caught.ts";
import { lacksDescriptors, openDescriptors } from "../../../test/support/open-descriptors.ts";
import { createEmptyStore } from "../../../test/support/seeded-store.ts";
import { temporaryFolder } from "../../../test/support/temporary-folder.ts";
import type { AuditEntry } from "../../access/audit.ts";
import { StoreUnavailable } from "../../plants/plant-store.ts";
import { DataFileProblem } from "./data-file/data-file-problem.ts";
import { readUseWithoutWal } from "./data-file/store-use.ts";
import { hasWriter } from "./data-file/writer-lock.ts";
import { SqliteStore } from "./sqlite-store.ts";

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

test("a store that cannot prepare its statements is not opened", () => {
  using folder = temporaryFolder();
  const path = join(folder.path, "plants.db");
  storeWithUnknownFunction(path);
  const open = () => new SqliteStore(path);
  expect(open).toThrow(DataFileProblem);
  expect(open).toThrow("cannot be used: unknown function: their()");
});

test("a store that is not opened releases its lock", () => {
  using folder = temporaryFolder();
  const path = join(folder.path, "plants.db");
  storeWithUnknownFunction(path);
  expect(() => new SqliteStore(path)).toThrow();
  expect(hasWriter(path)).toBe(false);
});

test("a store that is not opened leaves its data file marked as closed", () => {
  using folder = temporaryFolder();
  const path = join(folder.path, "plants.db");
  storeWithUnknownFunction(path);
  expect(() => new SqliteStore(path)).toThrow();
  expect(readUseWithoutWal(path)).toBe("closed");
});

test("a store that is not opened starts no thread, which would open its files after the lock is released", () => {
  using folder = temporaryFolder();
  const path = join(folder.path, "plants.db");
  storeWithUnknownFunction(path);
  using started = spyOn(globalThis, "Worker");
  expect(() => new SqliteStore(path)).toThrow("unknown function");
  expect(started).not.toHaveBeenCalled();
});

test.skipIf(lacksDescriptors())("a store that cannot prepare its statements leaves no file open", () => {
  using folder = temporaryFolder();
  const path = join(folder.path, "plants.db");
  storeWithUnknownFunction(path);
  expect(() => new SqliteStore(path)).toThrow();
  expect(openDescriptors(path)).toBe(0);
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

// On PostgreSQL, where test/storage/audit.test.ts has only the first removal, it would take a thousand round trips.
test("the oldest sign-ins are removed again in a process that runs for long", async () => {
  using folder = temporaryFolder();
  const path = join(folder.path, "plants.db");
  createEmptyStore(path);
  using database = new Database(path);
  database.run(
    `WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 100000)
     INSERT INTO audit_trail (at_ms, actor, action, subject, detail)
     SELECT n, 'test', 'console.signed-in', '', '' FROM numbers`,
  );
  await using store = new SqliteStore(path);
  const signIns = Array.from(
    { length: 1001 },
    (_, index): AuditEntry => ({
      atMs: 100_001 + index,
      actor: "test",
      action: "console.signed-in",
      subject: "",
      address: undefined,
      detail: "",
    }),
  );
  await Promise.all(signIns.map((entry) => store.audit.record(entry)));
  const stored = database.query("SELECT count(*) AS count, min(at_ms) AS oldest FROM audit_trail").get();
  expect(stored).toEqual({ count: 100_000, oldest: 1002 });
});

test("a store that is closed while a write waits for another process's lock refuses the write", async () => {
  using folder = temporaryFolder();
  const path = join(folder.path, "plants.db");
  const store = new SqliteStore(path);
  using other = new Database(path);
  other.run("BEGIN IMMEDIATE");
  const entry: AuditEntry = {
    atMs: 1,
    actor: "rosa",
    address: undefined,
    action: "console.signed-in",
    subject: "console",
    detail: "",
  };
  const recorded = caught(store.audit.record(entry));
  const closed = store[Symbol.asyncDispose]();
  other.run("ROLLBACK");
  await closed;
  expect(await recorded).toBeInstanceOf(StoreUnavailable);
});
