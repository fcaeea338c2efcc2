import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { StoreUnavailable } from "../../../plants/plant-store.ts";
import { SqliteStore } from "../sqlite-store.ts";
import { ReaderThread, syncedReads } from "./synced-reads.ts";

const plants = 1000;
const folder = mkdtempSync(join(tmpdir(), "plant-store-"));
const file = join(folder, "plants.db");
const durable = async () => {};

beforeAll(async () => {
  await using store = new SqliteStore(file);
  const arrivals = Array.from({ length: plants }, (_, id) => ({
    plant: { id: BigInt(id), name: id === 0 ? "The oldest" : "Fern", tag: undefined },
    createdBy: "test",
  }));
  await store.plants.create(arrivals, Date.now());
});
afterAll(() => rmSync(folder, { recursive: true }));

function startReader(path = file, synced = durable) {
  const reader = new ReaderThread(path, synced);
  return {
    archive: reader.archive,
    close: () => reader.close(),
    [Symbol.asyncDispose]: () => reader.close(),
  };
}

test("a search that is out of time returns what it has found, and continues from its cursor", async () => {
  await using reader = startReader();
  const search = {
    filter: { namePart: "oldest" },
    order: "newest-first",
    limit: 10,
    searchMsMax: 0,
  } as const;
  const first = await reader.archive.page({ ...search, cursor: undefined });
  expect([first.plants, typeof first.next]).toEqual([[], "string"]);
  let { next, searched, plants: found } = first;
  while (next !== undefined) {
    const page = await reader.archive.page({ ...search, cursor: next });
    searched += page.searched;
    ({ next, plants: found } = page);
  }
  expect([searched, found.map(({ id }) => id)]).toEqual([plants, [0n]]);
});

test("what was read is returned once it is durable", async () => {
  const read = Promise.withResolvers<void>();
  const synced = Promise.withResolvers<void>();
  await using reader = startReader(file, () => {
    read.resolve();
    return synced.promise;
  });
  const order: string[] = [];
  const reading = reader.archive.total().then((total) => order.push(`read ${total}`));
  await read.promise;
  // Whatever was about to be returned is returned first.
  await new Promise(setImmediate);
  order.push("synced");
  synced.resolve();
  await reading;
  expect(order).toEqual(["synced", `read ${plants}`]);
});

test("a thread that ended by itself is replaced by the next read", async () => {
  const moved = join(folder, "moved.db");
  await using reader = startReader(moved);
  await expect(reader.archive.total()).rejects.toThrow();
  renameSync(file, moved);
  expect(await reader.archive.total()).toBe(plants);
  renameSync(moved, file);
});

test("reads that the closing store does not finish are refused, and so are later ones", async () => {
  const { archive, close } = startReader();
  const reading = Array.from({ length: 20 }, () =>
    archive.total().then(
      () => "read",
      (error) => error,
    ),
  );
  await close();
  for (const outcome of await Promise.all(reading))
    if (outcome !== "read") expect(outcome).toBeInstanceOf(StoreUnavailable);
  await expect(archive.total()).rejects.toThrow(StoreUnavailable);
});

test("what a command reads is returned once it is durable, and not at all if it cannot be made so", async () => {
  const unsynced = syncedReads(file, () => Promise.reject(new Error("not durable")));
  expect(await unsynced(() => "plants").catch((error: Error) => error.message)).toBe("not durable");
  expect(await syncedReads(file, durable)(() => "plants")).toBe("plants");
});
