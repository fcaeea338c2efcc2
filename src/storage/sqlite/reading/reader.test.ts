import { Database } from "bun:sqlite";
import { afterAll, beforeAll, expect, test } from "bun:test";
import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { caught } from "../../../../test/support/caught.ts";
import { fakeTimers } from "../../../../test/support/clock.ts";
import { seedStore } from "../../../../test/support/seeded-store.ts";
import { temporaryFolder } from "../../../../test/support/temporary-folder.ts";
import { StoreUnavailable } from "../../../plants/plant-store.ts";
import { Reader } from "./reader.ts";

const plants = 3;
const folder = temporaryFolder();
const file = join(folder.path, "plants.db");
const durable = async () => {};

beforeAll(() => seedStore(file, { plants }));
afterAll(() => folder[Symbol.dispose]());

test("what was read is returned once it is durable", async () => {
  const read = Promise.withResolvers<void>();
  const synced = Promise.withResolvers<void>();
  const reader = new Reader(file, () => {
    read.resolve();
    return synced.promise;
  });
  const order: string[] = [];
  const reading = reader.archive.total().then((total) => order.push(`read ${total}`));
  await read.promise;
  // Whatever was about to be returned is returned first.
  await nextTurn();
  order.push("synced");
  synced.resolve();
  await reading;
  expect(order).toEqual(["synced", `read ${plants}`]);
  await reader.close();
});

test("a thread that ended by itself is replaced by the next read", async () => {
  const late = folder.newPath();
  const reader = new Reader(late, durable);
  await expect(reader.archive.total()).rejects.toThrow();
  copyFileSync(file, late);
  expect(await reader.archive.total()).toBe(plants);
  await reader.close();
});

test("a read that the closing store does not finish, or that begins later, is refused", async () => {
  const locked = folder.newCopy(file);
  // It keeps the reader waiting for longer than the two seconds that the store waits for the reader.
  using other = new Database(locked);
  other.run("PRAGMA locking_mode = EXCLUSIVE");
  other.run("BEGIN EXCLUSIVE");
  const reader = new Reader(locked, durable);
  const reading = caught(reader.archive.total());
  using timers = fakeTimers();
  const closed = reader.close();
  timers.advance(2000);
  await closed;
  expect(await reading).toBeInstanceOf(StoreUnavailable);
  await expect(reader.archive.total()).rejects.toThrow(StoreUnavailable);
});
