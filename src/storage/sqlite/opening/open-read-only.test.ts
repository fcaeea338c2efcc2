import { Database } from "bun:sqlite";
import { afterAll, beforeAll, describe, expect, spyOn, test } from "bun:test";
import * as fs from "node:fs";
import { copyFileSync, existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { crashedStore } from "../../../../test/support/crashed-store.ts";
import { createEmptyStore } from "../../../../test/support/seeded-store.ts";
import { temporaryFolder } from "../../../../test/support/temporary-folder.ts";
import { lastSeq } from "../blocks/blocks.ts";
import { ImmutableDatabase } from "../data-file/connect.ts";
import { LostWal } from "../data-file/data-file-problem.ts";
import { lockForWriting } from "../data-file/writer-lock.ts";
import { openReadOnly } from "./open-read-only.ts";

const plants = 6;
const folder = temporaryFolder();
const at = (name: string) => join(folder.path, name);
afterAll(() => folder[Symbol.dispose]());

beforeAll(async () => {
  await crashedStore(at("crashed"), plants);
  createEmptyStore(at("closed"));
  using database = new Database(at("crashed"), { readonly: true });
  database.run("VACUUM INTO ?", [at("copy")]);
});

/** A file in a folder of its own, with as much of a WAL beside it. */
function put(name: "crashed" | "closed" | "copy", walBytes = 0): string {
  const path = join(folder.newFolder(), "plants.db");
  copyFileSync(at(name), path);
  if (walBytes > 0) writeFileSync(`${path}-wal`, readFileSync(at("crashed-wal")).subarray(0, walBytes));
  return path;
}

const walBytesMax = Number.MAX_SAFE_INTEGER;
const shortWalBytes = 2000;

/** The files beside the path, and what is in them. */
function contentsBeside(path: string): Map<string, string> {
  const names = readdirSync(dirname(path));
  return new Map(names.map((name) => [name, readFileSync(join(dirname(path), name), "hex")]));
}

test("reading removes and changes no file, and reads what is in a WAL", () => {
  const read = (path: string) => {
    writeFileSync(`${path}.lock`, "");
    const before = contentsBeside(path);
    const database = openReadOnly(path);
    const found = lastSeq(database);
    database.close();
    const after = contentsBeside(path);
    for (const [name, content] of before) expect(after.get(name), name).toBe(content);
    return found;
  };
  expect(read(put("crashed", walBytesMax))).toBe(plants);
  expect(read(put("closed"))).toBe(0);
  expect(read(put("closed", shortWalBytes))).toBe(0);
  expect(read(put("copy"))).toBe(plants);
  expect(read(put("copy", shortWalBytes))).toBe(plants);
});

describe("a data file in use without its WAL", () => {
  test("is read by whoever warns of it, and refused otherwise", () => {
    const path = put("crashed");
    expect(() => openReadOnly(path)).toThrow(LostWal);
    const warned: LostWal[] = [];
    openReadOnly(path, (problem) => warned.push(problem)).close();
    expect(warned).toHaveLength(1);
    expect(warned[0]?.sentence).toContain("it lacks the plants that were only there");
  });

  // Its WAL is there again as soon as the writer has opened it.
  test("is read if there is a writer, or one by the time that it would be refused", () => {
    const path = put("crashed");
    {
      using _writer = lockForWriting(path);
      using opened = spyOn(fs, "openSync");
      openReadOnly(path).close();
      // The writer may be this process, in which closing a handle would drop SQLite's locks.
      expect(opened).not.toHaveBeenCalled();
    }
    using writer = new DisposableStack();
    const { accessSync } = fs;
    let looks = 0;
    using _spy = spyOn(fs, "accessSync").mockImplementation((file, mode) => {
      if (file === `${path}.lock` && mode === fs.constants.R_OK && ++looks === 2)
        writer.use(lockForWriting(path));
      return accessSync(file, mode);
    });
    openReadOnly(path).close();
    expect(looks).toBe(2);
  });
});

test("a damaged WAL is accepted by nobody, and keeps no writer out afterwards", () => {
  const path = put("crashed", walBytesMax);
  const wal = readFileSync(`${path}-wal`);
  wal[1000] = (wal[1000] ?? 0) ^ 1;
  writeFileSync(`${path}-wal`, wal);
  writeFileSync(`${path}.lock`, "");
  expect(() => openReadOnly(path, () => {})).toThrow(/-wal is damaged at frame \d+/);
  lockForWriting(path)[Symbol.dispose]();
});

// Where SQLite cannot create its files at all: test/sqlite/read-only.test.ts.
/** As if this process were of another user than the files. */
function asAnotherUser(): Disposable {
  const { statSync } = fs;
  const stat = (path: string, ...rest: never[]) =>
    path === "/proc/self" ? { uid: 12_345 } : (statSync as (...args: unknown[]) => unknown)(path, ...rest);
  return spyOn(fs, "statSync").mockImplementation(stat as typeof statSync);
}

test.skipIf(!existsSync("/proc/self"))(
  "a file is read as one that does not change by another user than its owner, who could not open a -shm file of theirs",
  () => {
    const path = put("closed");
    {
      using _user = asAnotherUser();
      using database = openReadOnly(path);
      expect(database).toBeInstanceOf(ImmutableDatabase);
      expect(readdirSync(dirname(path))).toEqual(["plants.db"]);
    }
    using database = openReadOnly(path);
    expect(database).not.toBeInstanceOf(ImmutableDatabase);
  },
);
