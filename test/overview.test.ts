import { describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MinuteCounts, Overview } from "../src/operator/overview.ts";
import type { PlantArchive } from "../src/plants/plant-archive.ts";
import { StoreUnavailable } from "../src/plants/plant-store.ts";
import { openStore } from "../src/storage/open-store.ts";
import { Counters } from "../src/telemetry/counters.ts";
import { RecentRefusals } from "../src/telemetry/recent-refusals.ts";

const minuteMs = 60_000;

async function newStore() {
  const folder = mkdtempSync(join(tmpdir(), "plant-store-"));
  const database = join(folder, "plants.db");
  const store = await openStore({ database, databasePassword: undefined, allowUnsafeDatabase: false });
  const create = (id: number, createdAtMs: number) =>
    store.plants.create(
      [{ plant: { id: BigInt(id), name: "a", tag: undefined }, createdBy: "t" }],
      createdAtMs,
    );
  return {
    archive: store.archive,
    plants: store.plants,
    create,
    async [Symbol.asyncDispose]() {
      await store[Symbol.asyncDispose]();
      rmSync(folder, { recursive: true });
    },
  };
}

/** The archive, with some of its methods replaced. */
function changed(archive: PlantArchive, methods: Partial<PlantArchive>): PlantArchive {
  return new Proxy(archive, {
    get(target, name) {
      const method = Reflect.get(methods, name) ?? Reflect.get(target, name);
      return typeof method === "function" ? method.bind(target) : method;
    },
  });
}

describe("plants per minute", () => {
  test("are counted once for past minutes, and all again every ten minutes", async () => {
    await using store = await newStore();
    const asked: number[] = [];
    const counts = new MinuteCounts(
      changed(store.archive, {
        createdPerBucket(fromMs, minutes, bucketMs) {
          asked.push(minutes);
          return store.archive.createdPerBucket(fromMs, minutes, bucketMs);
        },
      }),
    );
    const startMs = Math.floor(Date.now() / minuteMs) * minuteMs;
    for (let minute = 0; minute < 3; minute++) await store.create(minute, startMs + minute * minuteMs);
    const last = async (nowMs: number) => (await counts.at(nowMs)).creates.slice(-3);
    expect(await last(startMs + 2 * minuteMs + 1000)).toEqual([1, 1, 1]);
    await store.create(3, startMs + 2 * minuteMs + 2000);
    // The previous minute may still get plants.
    expect(await last(startMs + 2 * minuteMs + 3000)).toEqual([1, 1, 2]);
    expect(await last(startMs + 2 * minuteMs + 40_000)).toEqual([1, 1, 2]);
    expect(await last(startMs + 2 * minuteMs + 41_000)).toEqual([1, 1, 2]);
    expect(await last(startMs + 3 * minuteMs + 41_000)).toEqual([1, 2, 0]);
    expect((await counts.at(startMs + 13 * minuteMs)).creates.slice(-14, -9)).toEqual([1, 1, 2, 0, 0]);
    expect(asked).toEqual([180, 2, 2, 1, 2, 180]);
  });
});

describe("the overview", () => {
  const broken = () => Promise.reject(new StoreUnavailable("canceling statement due to statement timeout"));
  const reader = (archive: PlantArchive, failures: string[], counters = new Counters()) => {
    const overview = new Overview({
      archive,
      intake: { ready: async () => true },
      engine: "sqlite",
      startedAtMs: 0,
      counters,
      events: {
        figureFailed: (figure) => void failures.push(figure),
        refusals: new RecentRefusals(Date.now),
      },
    });
    return () => overview.read();
  };

  test("omits a figure that cannot be read, and reports it once", async () => {
    await using store = await newStore();
    await store.create(1, Date.now());
    const failures: string[] = [];
    const read = reader(changed(store.archive, { total: broken }), failures);
    for (let refresh = 0; refresh < 2; refresh++) {
      expect(await read()).toMatchObject({ total: undefined, ratePerSecond: 0.1, store: { ready: true } });
    }
    expect(failures).toEqual(["total"]);
  });

  test("has the median and the 99th percentile of fsyncs, once there were any", async () => {
    await using store = await newStore();
    const counters = new Counters();
    const read = reader(store.archive, [], counters);
    expect(await read()).toMatchObject({ store: { fsync: undefined } });
    for (let sync = 0; sync < 98; sync++) counters.histogram("fsync:wal").observe(0.004);
    for (let sync = 0; sync < 2; sync++) counters.histogram("fsync:wal").observe(0.2);
    // Both are in the middle of their buckets, 2.5 to 5 ms and 100 to 250 ms.
    const wal = { count: 100, medianMs: 3.8, p99Ms: 180 };
    expect(await read()).toMatchObject({ store: { fsync: { wal } } });
  });

  test("does not wait for a count of the week that takes long", async () => {
    await using store = await newStore();
    const week = Promise.withResolvers<readonly number[]>();
    const read = reader(
      changed(store.archive, {
        createdPerBucket: (fromMs, buckets, bucketMs) =>
          bucketMs === minuteMs ? store.archive.createdPerBucket(fromMs, buckets, bucketMs) : week.promise,
      }),
      [],
    );
    expect(await read()).toMatchObject({ total: "0", perHour: undefined });
    week.resolve([1, 2, 3]);
    expect(await read()).toMatchObject({ perHour: { creates: [1, 2, 3], refusals: [0, 0, 0] } });
  });

  test("is refused if no figure can be read", async () => {
    await using store = await newStore();
    const read = reader(changed(store.archive, { total: broken, createdPerBucket: broken }), []);
    await expect(read()).rejects.toMatchObject({ kind: "store-unavailable" });
  });
});
