import { afterAll, expect, spyOn, test } from "bun:test";
import { existsSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { temporaryFolder } from "../../../../test/support/temporary-folder.ts";
import { inspectFiles, refuseDamagedWithoutWriter } from "../inspection/inspect-files.ts";
import { DataFileProblem } from "./data-file-problem.ts";
import { hasWriter, lockAgainstWriters, lockForWriting, tryLock } from "./writer-lock.ts";

const temporary = temporaryFolder();
const folder = temporary.path;
afterAll(() => temporary[Symbol.dispose]());

function isFree(path: string): boolean {
  using lock = tryLock(path);
  return lock !== undefined;
}

test("processes that inspect the files together keep a writer out", () => {
  const path = join(folder, "inspected.db");
  lockForWriting(path)[Symbol.dispose]();
  using _one = lockAgainstWriters(path);
  using _other = lockAgainstWriters(path);
  expect(isFree(path)).toBe(false);
});

test("a data file has a writer while a process holds its lock for writing", () => {
  const path = join(folder, "written.db");
  expect(hasWriter(path)).toBe(false);
  {
    using _writer = lockForWriting(path);
    expect(hasWriter(path)).toBe(true);
  }
  expect(hasWriter(path)).toBe(false);
});

test("a process that inspects the files does not serve them", () => {
  const path = join(folder, "not-written.db");
  lockForWriting(path)[Symbol.dispose]();
  using _shared = lockAgainstWriters(path);
  expect(hasWriter(path)).toBe(false);
});

test("a lock file that cannot be opened is not taken for one that no writer holds", () => {
  const path = temporary.newPath();
  mkdirSync(`${path}.lock`);
  expect(() => hasWriter(path)).toThrow(DataFileProblem);
});

test("a data file in a folder that does not exist has no writer", () => {
  expect(hasWriter(join(temporary.newPath(), "plants.db"))).toBe(false);
});

test("a data file that does not exist yet has one lock, by whichever path its folder is reached", () => {
  mkdirSync(join(folder, "real"));
  symlinkSync(join(folder, "real"), join(folder, "linked"));
  using _lock = lockForWriting(join(folder, "real", "plants.db"));
  expect(isFree(join(folder, "linked", "plants.db"))).toBe(false);
});

// Root makes backups into folders of other users, and gives the lock file to the owner of the data file.
test("a lock file is never created through a symlink", () => {
  const path = join(folder, "linked-lock.db");
  const elsewhere = join(folder, "elsewhere");
  symlinkSync(elsewhere, `${path}.lock`);
  expect(() => tryLock(path)).toThrow(DataFileProblem);
  expect(existsSync(elsewhere)).toBe(false);
});

test("a lock that is about to be released is waited for", () => {
  const path = join(folder, "stopping.db");
  const held = lockForWriting(path);
  using pause = spyOn(Bun, "sleepSync").mockImplementation(() => held[Symbol.dispose]());
  lockForWriting(path)[Symbol.dispose]();
  expect(pause).toHaveBeenCalledTimes(1);
});

/** A data file whose WAL an inspection refuses. */
function damagedFile(name: string): string {
  const path = join(folder, name);
  writeFileSync(path, "a data file");
  writeFileSync(`${path}-wal`, "damaged");
  expect(() => inspectFiles(path)).toThrow(DataFileProblem);
  return path;
}

test("a WAL is not inspected while a writer holds the lock", () => {
  const path = damagedFile("written.db");
  using _writer = lockForWriting(path);
  expect(() => refuseDamagedWithoutWriter(path)).not.toThrow();
});

test("the lock of an inspection is released", () => {
  const path = damagedFile("inspected-once.db");
  lockForWriting(path)[Symbol.dispose]();
  expect(() => refuseDamagedWithoutWriter(path)).toThrow(DataFileProblem);
  expect(isFree(path)).toBe(true);
});
