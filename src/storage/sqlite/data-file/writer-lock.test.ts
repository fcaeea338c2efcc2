import { Database } from "bun:sqlite";
import { afterAll, describe, expect, spyOn, test } from "bun:test";
import * as fs from "node:fs";
import { closeSync, existsSync, mkdirSync, openSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { temporaryFolder } from "../../../../test/support/temporary-folder.ts";
import { inspectFiles, refuseDamagedWithoutWriter } from "../inspection/inspect-files.ts";
import { DataFileProblem } from "./data-file-problem.ts";
import { hasWriter, lockAgainstWriters, lockForWriting, tryLock, tryTemporaryLock } from "./writer-lock.ts";

const temporary = temporaryFolder();
afterAll(() => temporary[Symbol.dispose]());

function isFree(path: string): boolean {
  using lock = tryLock(path);
  return lock !== undefined;
}

test("processes that inspect the files together keep a writer out", () => {
  const path = temporary.newPath();
  lockForWriting(path)[Symbol.dispose]();
  using _one = lockAgainstWriters(path);
  using _other = lockAgainstWriters(path);
  expect(isFree(path)).toBe(false);
});

test("a data file has a writer while a process holds its lock for writing, not while one inspects it", () => {
  const path = temporary.newPath();
  expect(hasWriter(path)).toBe(false);
  {
    using _writer = lockForWriting(path);
    expect(hasWriter(path)).toBe(true);
  }
  expect(hasWriter(path)).toBe(false);
  using _shared = lockAgainstWriters(path);
  expect(hasWriter(path)).toBe(false);
});

test("a lock file that cannot be opened is not taken for one that no writer holds", () => {
  const path = temporary.newPath();
  mkdirSync(`${path}.lock`);
  expect(() => hasWriter(path)).toThrow(DataFileProblem);
});

test("a lock file of another format is named, and not its data file", () => {
  const path = temporary.newPath();
  writeFileSync(`${path}.lock`, "not a database".repeat(100));
  expect(() => tryLock(path)).toThrow(`${path}.lock is not a SQLite database`);
});

test("a data file in a folder that does not exist has no writer, and is named where it cannot be locked", () => {
  const path = join(temporary.newPath(), "plants.db");
  expect(hasWriter(path)).toBe(false);
  expect(() => tryLock(path)).toThrow(`${path} cannot be opened: `);
});

test("a data file that does not exist yet has one lock, by whichever path its folder is reached", () => {
  const real = temporary.newFolder();
  const linked = temporary.newPath("linked");
  symlinkSync(real, linked);
  using _lock = lockForWriting(join(real, "plants.db"));
  expect(isFree(join(linked, "plants.db"))).toBe(false);
});

describe("a temporary lock", () => {
  test("is held by one at a time, and leaves no file", () => {
    const path = temporary.newPath();
    {
      using _lock = tryTemporaryLock(path);
      expect(tryTemporaryLock(path)).toBeUndefined();
    }
    expect(existsSync(`${path}.lock`)).toBe(false);
  });

  test("is not that of the file that a symbolic link leads to", () => {
    const path = temporary.newPath();
    const link = temporary.newPath();
    symlinkSync(path, link);
    using _writer = lockForWriting(path);
    tryTemporaryLock(link)?.[Symbol.dispose]();
    expect(existsSync(`${path}.lock`)).toBe(true);
  });

  test("is acquired although a process that was killed left its file", () => {
    const path = temporary.newPath();
    writeFileSync(`${path}.lock`, "");
    using lock = tryTemporaryLock(path);
    expect(lock).toBeDefined();
  });

  test("is acquired if another process releases it just before the file is found missing, and leaves no file", () => {
    const path = temporary.newPath();
    using cleanUp = new DisposableStack();
    const first = tryTemporaryLock(path);
    // While it is open, the new file cannot get its inode.
    cleanUp.adopt(openSync(`${path}.lock`, "r"), closeSync);
    const releaseFirst = () => {
      first?.[Symbol.dispose]();
      return false;
    };
    using _spy = spyOn(fs, "existsSync").mockImplementationOnce(releaseFirst);
    const second = tryTemporaryLock(path);
    expect(second).toBeDefined();
    second?.[Symbol.dispose]();
    expect(existsSync(`${path}.lock`)).toBe(false);
  });

  test("is acquired if another process removes the file just after it was found", () => {
    const path = temporary.newPath();
    writeFileSync(`${path}.lock`, "");
    const removeFound = () => {
      rmSync(`${path}.lock`);
      return true;
    };
    using _spy = spyOn(fs, "existsSync").mockImplementationOnce(removeFound);
    using lock = tryTemporaryLock(path);
    expect(lock).toBeDefined();
  });

  test("is not that of a file that was removed before it was locked", () => {
    const path = temporary.newPath();
    // A process releases its lock once this one has opened the file, and a third one acquires it.
    let third: Disposable | undefined;
    const query = Database.prototype.run;
    const runAfterRelease = function (this: Database, sql: string) {
      if (sql === "BEGIN EXCLUSIVE" && third === undefined) {
        spy.mockRestore();
        rmSync(`${path}.lock`);
        third = tryTemporaryLock(path);
      }
      return query.call(this, sql);
    };
    const spy = spyOn(Database.prototype, "run").mockImplementation(runAfterRelease as typeof query);
    expect(tryTemporaryLock(path)).toBeUndefined();
    expect(third).toBeDefined();
    third?.[Symbol.dispose]();
  });

  test("is released although its folder is gone", () => {
    const folder = temporary.newFolder();
    const lock = tryTemporaryLock(join(folder, "copy.db"));
    rmSync(folder, { recursive: true });
    writeFileSync(folder, "");
    expect(() => lock?.[Symbol.dispose]()).not.toThrow();
  });
});

// Root makes backups into folders of other users, and gives the lock file to the owner of the data file.
test("a lock file is never created through a symlink", () => {
  const path = temporary.newPath();
  const elsewhere = temporary.newPath();
  symlinkSync(elsewhere, `${path}.lock`);
  expect(() => tryLock(path)).toThrow(DataFileProblem);
  expect(existsSync(elsewhere)).toBe(false);
});

test("a lock that is about to be released is waited for", () => {
  const path = temporary.newPath();
  const held = lockForWriting(path);
  using pause = spyOn(Bun, "sleepSync").mockImplementation(() => held[Symbol.dispose]());
  lockForWriting(path)[Symbol.dispose]();
  expect(pause).toHaveBeenCalledTimes(1);
});

test("a damaged WAL is refused, and the lock released, unless a writer holds that", () => {
  const path = temporary.newPath();
  writeFileSync(path, "a data file");
  writeFileSync(`${path}-wal`, "damaged");
  expect(() => inspectFiles(path)).toThrow(DataFileProblem);
  {
    using _writer = lockForWriting(path);
    expect(() => refuseDamagedWithoutWriter(path)).not.toThrow();
  }
  expect(() => refuseDamagedWithoutWriter(path)).toThrow(DataFileProblem);
  expect(isFree(path)).toBe(true);
});
