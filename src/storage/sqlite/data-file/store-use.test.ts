import { expect, spyOn, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { createEmptyStore } from "../../../../test/support/seeded-store.ts";
import { temporaryFolder } from "../../../../test/support/temporary-folder.ts";
import { Problem } from "../../../system/problem.ts";
import { ImmutableDatabase } from "./connect.ts";
import { readUseWithoutWal } from "./store-use.ts";

test("a data file that cannot be read is a problem, since it may say that it needs its WAL", () => {
  using folder = temporaryFolder();
  const path = folder.newPath();
  createEmptyStore(path);
  using _spy = spyOn(ImmutableDatabase.prototype, "query").mockImplementation(() => {
    throw Object.assign(new Error("it failed"), { code: "SQLITE_IOERR_READ" });
  });
  expect(() => readUseWithoutWal(path)).toThrow(Problem);
  expect(() => readUseWithoutWal(path)).toThrow(`${path} cannot be opened: it failed.`);
});

test("a file that is damaged, or no database, has no mark", () => {
  using folder = temporaryFolder();
  const path = folder.newPath();
  createEmptyStore(path);
  const sound = readFileSync(path);
  const contents = ["", "not a database".repeat(100), Buffer.from(sound).fill(0xff, 100, 1000)];
  const marks = contents.map((content) => {
    writeFileSync(path, content);
    return readUseWithoutWal(path);
  });
  expect(marks).toEqual([undefined, undefined, undefined]);
  writeFileSync(path, sound);
  expect(readUseWithoutWal(path)).toBe("closed");
});
