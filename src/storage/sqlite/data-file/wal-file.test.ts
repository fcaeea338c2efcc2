import { Database } from "bun:sqlite";
import { afterAll, describe, expect, spyOn, test } from "bun:test";
import * as fs from "node:fs";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { temporaryFolder } from "../../../../test/support/temporary-folder.ts";
import { inspectWal } from "./wal-file.ts";

const temporary = temporaryFolder();
const folder = temporary.path;
afterAll(() => temporary[Symbol.dispose]());
const headerBytes = 32;
const frameBytes = 4120;

/** A WAL as a crash leaves it, with a transaction for each of these blobs. */
function crashedWal(blobBytes: readonly number[]) {
  const path = join(folder, "crashed.db");
  const database = new Database(path);
  database.run("PRAGMA journal_mode = WAL");
  database.run("PRAGMA wal_autocheckpoint = 0");
  database.run("CREATE TABLE t (x INTEGER PRIMARY KEY, y BLOB)");
  let lastAt = 0;
  for (const bytes of blobBytes) {
    lastAt = readFileSync(`${path}-wal`).length;
    database.query("INSERT INTO t (y) VALUES (randomblob(?))").run(bytes);
  }
  const bytes = readFileSync(`${path}-wal`);
  const data = readFileSync(path);
  database.close();
  rmSync(path);
  return { data, bytes, frames: (bytes.length - headerBytes) / frameBytes, lastAt };
}

// Of one to four pages, and the last of five.
const wal = crashedWal([4000, 8000, 12_000, 16_000, 20_000]);
const from = wal.lastAt;

function inspected(bytes: Buffer) {
  const path = join(folder, "inspected-wal");
  writeFileSync(path, bytes);
  return inspectWal(path);
}

function changed(change: (bytes: Buffer) => void): Buffer {
  const bytes = Buffer.from(wal.bytes);
  change(bytes);
  return bytes;
}

test("a WAL that another process deletes before it is opened is none", () => {
  const path = join(folder, "deleted-wal");
  writeFileSync(path, wal.bytes);
  const { openSync } = fs;
  using _spy = spyOn(fs, "openSync").mockImplementation((file, ...rest) => {
    rmSync(path);
    return openSync(file, ...rest);
  });
  expect(inspectWal(path)).toEqual({ kind: "none" });
});

test("a WAL is sound up to the last transaction but one, whichever sectors of the last are torn", () => {
  const sectors = Math.ceil((wal.bytes.length - from) / 512);
  fc.assert(
    fc.property(
      fc.array(fc.boolean(), { minLength: sectors, maxLength: sectors }),
      fc.boolean(),
      (arrived, cut) => {
        const torn = changed((bytes) => {
          // Sectors that were not written hold an earlier generation of the WAL, or zeros.
          for (const [index, there] of arrived.entries()) {
            const at = from + index * 512;
            if (!there) wal.bytes.copy(bytes, at, at - from, Math.min(at - from + 512, wal.bytes.length));
            if (!there && index % 2 === 0) bytes.fill(0, at, Math.min(at + 512, bytes.length));
          }
        });
        const state = inspected(cut ? torn.subarray(0, torn.length - 700) : torn);
        const whole = arrived.every(Boolean) && !cut;
        expect(state).toEqual({ kind: "sound", committedBytes: whole ? wal.bytes.length : from });
      },
    ),
    { numRuns: 200 },
  );
});

test("a WAL is damaged by any one bit flipped before the last two transactions", () => {
  const end = from - 4 * frameBytes;
  fc.assert(
    fc.property(fc.nat(end - 1), fc.nat(7), (at, bit) => {
      const state = inspected(
        changed((bytes) => {
          bytes[at] = (bytes[at] ?? 0) ^ (1 << bit);
        }),
      );
      expect(state.kind).toBe("damaged");
    }),
    { numRuns: 500 },
  );
});

describe("a WAL with an older frame's commit mark in a header", () => {
  const long = crashedWal([200_000]);
  const markedAt = (frame: number) => {
    const bytes = Buffer.from(long.bytes);
    bytes.writeUInt32BE(1, headerBytes + (frame - 1) * frameBytes + 4);
    return inspected(bytes);
  };

  test("is sound if the header spans two sectors, because one may be torn", () => {
    // The header of frame 42 starts eight bytes before the end of a sector.
    expect(markedAt(42)).toEqual({ kind: "sound", committedBytes: long.lastAt });
  });

  test("is damaged if the header is within one sector", () => {
    expect(markedAt(41)).toEqual({ kind: "damaged", frame: 41 });
  });
});

/** How many frames SQLite recovers from the WAL of that file. */
function recoveredFrames(path: string): number {
  using database = new Database(path);
  database.query("SELECT 1 FROM sqlite_schema").all();
  return database.query<{ log: number }, []>("PRAGMA wal_checkpoint(NOOP)").get()?.log ?? 0;
}

// Where no transaction is complete, the first frame is kept: without one, a data file in use would lack its WAL.
test("a WAL is committed up to where SQLite recovers it, after whichever frame it is cut", () => {
  for (let frames = 1; frames <= wal.frames; frames++) {
    const path = temporary.newPath();
    writeFileSync(path, wal.data);
    writeFileSync(`${path}-wal`, wal.bytes.subarray(0, headerBytes + frames * frameBytes + 100));
    const state = inspectWal(`${path}-wal`);
    const committedBytes = headerBytes + Math.max(recoveredFrames(path), 1) * frameBytes;
    expect({ frames, ...state }).toEqual({ frames, kind: "sound", committedBytes });
  }
});
