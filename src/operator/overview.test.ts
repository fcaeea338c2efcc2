import { describe, expect, test } from "bun:test";
import type { Intake } from "../plants/intake.ts";
import type { PlantArchive } from "../plants/plant-archive.ts";
import { StoreUnavailable } from "../plants/plant-store.ts";
import { Counters } from "../telemetry/counters.ts";
import type { Events } from "../telemetry/events.ts";
import { RecentRefusals } from "../telemetry/recent-refusals.ts";
import { MinuteCounts, Overview } from "./overview.ts";

const minuteMs = 60_000;
const startMs = 29_000_000 * minuteMs;
const broken = () => Promise.reject(new StoreUnavailable("canceling statement due to statement timeout"));

/** An archive of plants that were stored at these times, with some of its methods replaced. */
function archiveOf(timesMs: readonly number[], methods: Partial<PlantArchive> = {}): PlantArchive {
  return {
    total: async () => timesMs.length,
    diskUsage: async () => undefined,
    async createdPerBucket(fromMs: number, buckets: number, bucketMs: number) {
      const bucketOf = (timeMs: number) => Math.floor((timeMs - fromMs) / bucketMs);
      return Array.from(
        { length: buckets },
        (_, at) => timesMs.filter((time) => bucketOf(time) === at).length,
      );
    },
    ...methods,
  } as PlantArchive;
}

test("plants per minute are counted once for past minutes, and all again every ten minutes", async () => {
  const timesMs = [0, 1, 2].map((minute) => startMs + minute * minuteMs);
  const archive = archiveOf(timesMs);
  const asked: number[] = [];
  const counts = new MinuteCounts({
    ...archive,
    createdPerBucket(fromMs, minutes, bucketMs) {
      asked.push(minutes);
      return archive.createdPerBucket(fromMs, minutes, bucketMs);
    },
  });
  const last = async (minutes: number, afterMs: number) =>
    (await counts.at(startMs + minutes * minuteMs + afterMs)).creates.slice(-3);
  expect(await last(2, 1000)).toEqual([1, 1, 1]);
  timesMs.push(startMs + 2 * minuteMs + 2000);
  // The previous minute may still get plants.
  expect(await last(2, 3000)).toEqual([1, 1, 2]);
  expect(await last(2, 40_000)).toEqual([1, 1, 2]);
  expect(await last(2, 41_000)).toEqual([1, 1, 2]);
  expect(await last(3, 41_000)).toEqual([1, 2, 0]);
  expect((await counts.at(startMs + 13 * minuteMs)).creates.slice(-14, -9)).toEqual([1, 1, 2, 0, 0]);
  expect(asked).toEqual([180, 2, 2, 1, 2, 180]);
});

describe("the overview", () => {
  function overviewOf(archive: PlantArchive) {
    const [counters, failures] = [new Counters(), [] as string[]];
    const overview = new Overview({
      archive,
      counters,
      intake: { ready: async () => true } as Intake,
      engine: "sqlite",
      lastBackup: undefined,
      events: {
        figureFailed: (figure: string) => void failures.push(figure),
        refusals: new RecentRefusals(() => startMs),
      } as unknown as Events,
    });
    return { read: () => overview.read(startMs), counters, failures };
  }

  test("omits a figure that cannot be read, and reports it once", async () => {
    const { read, failures } = overviewOf(archiveOf([startMs - 1000], { total: broken }));
    for (let refresh = 0; refresh < 2; refresh++)
      expect(await read()).toMatchObject({ total: undefined, ratePerSecond: 0.1, store: { ready: true } });
    expect(failures).toEqual(["total"]);
  });

  test("is refused if no figure can be read", async () => {
    const { read } = overviewOf(archiveOf([], { total: broken, createdPerBucket: broken }));
    await expect(read()).rejects.toMatchObject({ kind: "store-unavailable" });
  });

  test("has the median and the 99th percentile of fsyncs, once there were any", async () => {
    const { read, counters } = overviewOf(archiveOf([]));
    expect(await read()).toMatchObject({ store: { fsync: undefined } });
    for (let sync = 0; sync < 100; sync++) counters.histogram("fsync:wal").observe(sync < 98 ? 0.004 : 0.2);
    // Both are in the middle of their buckets, 2.5 to 5 ms and 100 to 250 ms.
    const wal = { count: 100, medianMs: 3.8, p99Ms: 180 };
    expect(await read()).toMatchObject({ store: { fsync: { wal } } });
  });

  test("does not wait for a count of the week that takes long", async () => {
    const week = Promise.withResolvers<readonly number[]>();
    const { read } = overviewOf(
      archiveOf([], {
        createdPerBucket: async (_from, buckets, bucketMs) =>
          bucketMs === minuteMs ? Array(buckets).fill(0) : week.promise,
      }),
    );
    expect(await read()).toMatchObject({ total: "0", perHour: undefined });
    week.resolve([1, 2, 3]);
    expect(await read()).toMatchObject({ perHour: { creates: [1, 2, 3], refusals: [0, 0, 0] } });
  });
});
