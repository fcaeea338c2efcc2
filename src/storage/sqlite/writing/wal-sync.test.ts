import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { closeSync, openSync } from "node:fs";
import { platform } from "node:os";
import { join } from "node:path";
import { temporaryFolder } from "../../../../test/harness.ts";
import { DiskSpeed, takeOverSync } from "./wal-sync.ts";

/** Fsyncs of that many milliseconds, one every 20 ms; returns how many of them were waited for. */
function syncs(disk: DiskSpeed, count: number, tookMs: (index: number) => number, fromMs = 0): number {
  let waited = 0;
  for (let index = 0; index < count; index++) {
    const nowMs = fromMs + index * 20;
    if (!disk.mayWait(nowMs)) {
      disk.syncedInBackground(tookMs(index));
      continue;
    }
    waited++;
    disk.waited(nowMs, nowMs + tookMs(index));
  }
  return waited;
}

test("an fsync is waited for only on a disk that was found fast, by a store that writes often", () => {
  const disk = new DiskSpeed();
  expect(syncs(disk, 32, () => 0.1)).toBe(0);
  expect(syncs(disk, 100, () => 0.1)).toBe(100);
});

test("an occasional slow one changes nothing, and a disk that has become slow is noticed after a few", () => {
  const disk = new DiskSpeed();
  syncs(disk, 33, () => 0.1);
  expect(syncs(disk, 1000, (index) => (index % 20 === 0 ? 5 : 0.1))).toBe(1000);
  expect(syncs(disk, 400, () => 5, 20_000)).toBeLessThan(10);
  // The same once it is fast again.
  expect(syncs(disk, 1, () => 0.1, 60_000)).toBe(1);
  expect(syncs(disk, 1000, (index) => (index % 20 === 0 ? 5 : 0.1), 61_000)).toBe(1000);
});

test("a slow disk is tried once in ten seconds", () => {
  const disk = new DiskSpeed();
  // A minute of fsyncs.
  expect(syncs(disk, 3000, () => 5)).toBe(6);
  expect(syncs(disk, 1000, () => 0.1, 120_000)).toBeGreaterThan(900);
});

test("a disk whose every fsync takes long is not tried until one of them was shorter", () => {
  const disk = new DiskSpeed();
  expect(syncs(disk, 3000, () => 20)).toBe(0);
  expect(syncs(disk, 3000, (index) => (index % 100 === 0 ? 5 : 20), 60_000)).toBe(6);
  // One for the short ones since the last trial.
  expect(syncs(disk, 3000, () => 20, 120_000)).toBe(1);
  // Ten seconds, in which it is found to be fast, at most.
  expect(syncs(disk, 1000, () => 0.1, 180_000)).toBeGreaterThan(400);
});

test.skipIf(platform() !== "linux")("an fsync that fails is an error, waited for or not", async () => {
  using folder = temporaryFolder();
  using database = new Database(":memory:");
  const file = openSync(join(folder.path, "wal"), "w");
  const disk = new DiskSpeed();
  const sync = takeOverSync(database, file, disk);
  await sync?.();
  closeSync(file);
  expect(await sync?.()?.catch(({ code }) => code)).toBe("EBADF");
  syncs(disk, 40, () => 0.1);
  expect(disk.mayWait(0)).toBe(true);
  expect(sync).toThrow("EBADF");
});
