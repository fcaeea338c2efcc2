import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { closeSync, openSync } from "node:fs";
import { platform } from "node:os";
import { join } from "node:path";
import { stoppedClock } from "../../../../test/support/clock.ts";
import { temporaryFolder } from "../../../../test/support/temporary-folder.ts";
import { takeOverSync, WalSync } from "./wal-sync.ts";

/** A disk whose fsyncs take as long as the test says; which of them were in place. */
function cuedDisk() {
  let nowMs = 0;
  let nextMs = 0;
  const wal = new WalSync({
    inPlace: () => {
      nowMs += nextMs;
    },
    inBackground: async () => {},
    now: () => nowMs,
  });
  return {
    /** One fsync for each time, one every 20 ms: `p` for in place, `b` for in the background. */
    syncs: (tookMs: readonly number[]): string =>
      tookMs
        .map((ms) => {
          nowMs += 20;
          nextMs = ms;
          return wal.sync() === undefined ? "p" : "b";
        })
        .join(""),
    pass: (ms: number) => {
      nowMs += ms;
    },
  };
}

const times = (count: number, ms: number): number[] => Array<number>(count).fill(ms);

test("fast fsyncs, and slow ones that are fewer than eight in a row, are in place", () => {
  const disk = cuedDisk();
  expect(disk.syncs(times(100, 0.1))).toBe("p".repeat(100));
  for (let round = 0; round < 10; round++) expect(disk.syncs([...times(7, 5), 1])).toBe("p".repeat(8));
});

test("fsyncs after eight slow ones in a row are in the background for ten seconds", () => {
  const disk = cuedDisk();
  expect(disk.syncs(times(10, 1.2))).toBe("ppppppppbb");
  disk.pass(9_900);
  expect(disk.syncs([1.2])).toBe("b");
  disk.pass(100);
  // Still slow, they return to the background after eight.
  expect(disk.syncs(times(9, 1.2))).toBe("ppppppppb");
  disk.pass(10_000);
  expect(disk.syncs(times(9, 0.1))).toBe("p".repeat(9));
});

test("the fsync after one of 250 ms is in the background", () => {
  const disk = cuedDisk();
  expect(disk.syncs([249, 0.1])).toBe("pp");
  expect(disk.syncs([250, 0.1])).toBe("pb");
});

test.skipIf(platform() !== "linux")(
  "an fsync that fails is an error, in place and in the background",
  async () => {
    using folder = temporaryFolder();
    using database = new Database(":memory:");
    const file = openSync(join(folder.path, "wal"), "w");
    const wal = takeOverSync(database, file);
    using clock = stoppedClock();
    expect(wal?.sync()).toBeUndefined();
    // This one seems to take a second, so the next one is in the background.
    clock.stepMs = 1000;
    expect(wal?.sync()).toBeUndefined();
    using _occupied = occupyUnsyncable(file);
    await expect(wal?.sync()).rejects.toThrow("EINVAL");
    clock.nowMs += 20_000;
    expect(() => wal?.sync()).toThrow("EINVAL");
  },
);

/** Closes a file and opens /dev/null under its number, which no fsync accepts. A free number could become anyone's file. */
function occupyUnsyncable(file: number): Disposable {
  closeSync(file);
  const opened: number[] = [];
  // The smallest free number comes first.
  while (opened.at(-1) !== file) {
    if (opened.length === 1000) throw new Error("Another thread has opened a file under this number.");
    opened.push(openSync("/dev/null", "r"));
  }
  return {
    [Symbol.dispose]() {
      for (const number of opened) closeSync(number);
    },
  };
}
