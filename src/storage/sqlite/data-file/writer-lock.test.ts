import { afterAll, expect, test } from "bun:test";
import { existsSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { temporaryFolder } from "../../../../test/support/temporary-folder.ts";
import { Problem } from "../../../system/problem.ts";
import { hasWriter, lockAgainstWriters, lockForWriting, tryLockForWriting } from "./writer-lock.ts";

const temporary = temporaryFolder();
afterAll(() => temporary[Symbol.dispose]());

function isFree(path: string): boolean {
  using lock = tryLockForWriting(path);
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
  expect(() => hasWriter(path)).toThrow(Problem);
});

test("a lock file of another format is named, and not its data file", () => {
  const path = temporary.newPath();
  writeFileSync(`${path}.lock`, "not a database".repeat(100));
  expect(() => tryLockForWriting(path)).toThrow(`${path}.lock is not a SQLite database`);
});

test("a data file in a folder that does not exist has no writer, and is named where it cannot be locked", () => {
  const path = join(temporary.newPath(), "plants.db");
  expect(hasWriter(path)).toBe(false);
  expect(() => tryLockForWriting(path)).toThrow(`${path} cannot be opened: `);
});

test("a data file that does not exist yet has one lock, by whichever path its folder is reached", () => {
  const real = temporary.newFolder();
  const linked = temporary.newPath("linked");
  symlinkSync(real, linked);
  using _lock = lockForWriting(join(real, "plants.db"));
  expect(isFree(join(linked, "plants.db"))).toBe(false);
});

// Root makes backups into folders of other users, and gives the lock file to the owner of the data file.
test("a lock file is never created through a symlink", () => {
  const path = temporary.newPath();
  const elsewhere = temporary.newPath();
  symlinkSync(elsewhere, `${path}.lock`);
  expect(() => tryLockForWriting(path)).toThrow(Problem);
  expect(existsSync(elsewhere)).toBe(false);
});

test("a lock that another process is about to release is waited for", async () => {
  const path = temporary.newPath();
  const module = join(import.meta.dir, "writer-lock.ts");
  const script = `import { lockForWriting } from ${JSON.stringify(module)};
    const lock = lockForWriting(${JSON.stringify(path)});
    console.log("held");
    setTimeout(() => lock[Symbol.dispose](), 100);`;
  const holder = Bun.spawn([process.execPath, "-e", script], { stdout: "pipe" });
  await holder.stdout.getReader().read();
  expect(() => lockForWriting(path)[Symbol.dispose]()).not.toThrow();
  expect(await holder.exited).toBe(0);
});
