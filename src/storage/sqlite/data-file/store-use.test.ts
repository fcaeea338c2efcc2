// What the mark says, if the data file can be read. What is done about it is in test/sqlite/lost-wal.test.ts.
import type { Database } from "bun:sqlite";
import { describe, expect, spyOn, test } from "bun:test";
import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { createEmptyStore } from "../../../../test/support/seeded-store.ts";
import { temporaryFolder } from "../../../../test/support/temporary-folder.ts";
import { connectReadOnly } from "../reading/connect-read-only.ts";
import { ImmutableDatabase } from "./connect.ts";
import { DataFileProblem } from "./data-file-problem.ts";
import { readUseWithoutWal } from "./store-use.ts";

describe("a data file that cannot be read is a problem, since it may say that it needs its WAL:", () => {
  test.each([
    ["an I/O error", "SQLITE_IOERR_READ"],
    ["too many open files", "SQLITE_CANTOPEN"],
    ["no memory", "SQLITE_NOMEM"],
  ])("%s", (_, code) => {
    using folder = temporaryFolder();
    const path = folder.newPath();
    createEmptyStore(path);
    using _spy = spyOn(ImmutableDatabase.prototype, "query").mockImplementation(() => {
      throw Object.assign(new Error("it failed"), { code });
    });
    expect(() => readUseWithoutWal(path)).toThrow(DataFileProblem);
    expect(() => readUseWithoutWal(path)).toThrow(`${path} cannot be opened: it failed.`);
  });
});

test.each([
  ["a path without a file", () => {}],
  ["an empty file", (path: string) => writeFileSync(path, "")],
  ["a file of another format", (path: string) => writeFileSync(path, "not a database".repeat(100))],
  ["a folder", (path: string) => mkdirSync(path)],
])("%s has no mark", (_, make) => {
  using folder = temporaryFolder();
  const path = folder.newPath();
  make(path);
  expect(readUseWithoutWal(path)).toBeUndefined();
});

describe("a connection beside a lock file that cannot be opened", () => {
  function closeWithBadLock(path: string): Database {
    createEmptyStore(path);
    const database = connectReadOnly(path);
    rmSync(`${path}.lock`, { force: true });
    mkdirSync(`${path}.lock`);
    database.close();
    return database;
  }

  test("is closed", () => {
    using folder = temporaryFolder();
    const database = closeWithBadLock(folder.newPath());
    expect(() => database.run("SELECT 1")).toThrow("closed");
  });

  test("leaves the WAL, which a writer may need", () => {
    using folder = temporaryFolder();
    const path = folder.newPath();
    closeWithBadLock(path);
    expect(existsSync(`${path}-wal`)).toBe(true);
  });
});
