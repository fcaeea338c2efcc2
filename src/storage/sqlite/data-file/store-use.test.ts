import { expect, spyOn, test } from "bun:test";
import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { createEmptyStore } from "../../../../test/support/seeded-store.ts";
import { temporaryFolder } from "../../../../test/support/temporary-folder.ts";
import { connectReadOnly } from "../reading/connect-read-only.ts";
import { ImmutableDatabase } from "./connect.ts";
import { DataFileProblem } from "./data-file-problem.ts";
import { readUseWithoutWal } from "./store-use.ts";

test("a data file that cannot be read is a problem, since it may say that it needs its WAL", () => {
  using folder = temporaryFolder();
  const path = folder.newPath();
  createEmptyStore(path);
  using _spy = spyOn(ImmutableDatabase.prototype, "query").mockImplementation(() => {
    throw Object.assign(new Error("it failed"), { code: "SQLITE_IOERR_READ" });
  });
  expect(() => readUseWithoutWal(path)).toThrow(DataFileProblem);
  expect(() => readUseWithoutWal(path)).toThrow(`${path} cannot be opened: it failed.`);
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

test("a connection beside a lock file that cannot be opened is closed, and leaves the WAL to a writer", () => {
  using folder = temporaryFolder();
  const path = folder.newPath();
  createEmptyStore(path);
  const database = connectReadOnly(path);
  rmSync(`${path}.lock`, { force: true });
  mkdirSync(`${path}.lock`);
  database.close();
  expect(() => database.run("SELECT 1")).toThrow("closed");
  expect(existsSync(`${path}-wal`)).toBe(true);
});
