import { expect, test } from "bun:test";
import { fake } from "../../test/support/fake.ts";
import type { Readiness, ReadinessState } from "../http/health.ts";
import type { PlantArchive } from "../plants/plant-archive.ts";
import { StoreUnavailable } from "../plants/plant-store.ts";
import type { Events } from "../telemetry/events.ts";
import { RecentRefusals } from "../telemetry/recent-refusals.ts";
import { minuteMs } from "../text/duration.ts";
import type { OperatedStore } from "./operator-dependencies.ts";
import { createOverview } from "./overview.ts";

const nowMs = 29_000_000 * minuteMs;
const broken = () => Promise.reject(new StoreUnavailable("canceling statement due to statement timeout"));

/** An overview of a store with one new plant, with some methods of its archive replaced. */
function overviewOf(methods: Partial<PlantArchive>, state: ReadinessState = "ready") {
  const failures: string[] = [];
  const archive = fake<PlantArchive>({
    total: async () => 1,
    diskUsage: async () => undefined,
    createdPerBucket: async (_from: number, buckets: number) => [...Array(buckets - 1).fill(0), 1],
    ...methods,
  });
  const overview = createOverview({
    store: fake<OperatedStore>({ engine: "sqlite", archive }),
    readiness: fake<Readiness>({ check: async () => state }),
    events: fake<Events>({
      figureFailed: (figure: string) => void failures.push(figure),
      refusals: new RecentRefusals(),
    }),
    startedAtMs: nowMs,
  });
  return { present: () => overview(nowMs), failures };
}

test("a service that is not ready is not on the overview either", async () => {
  expect(await overviewOf({}, "closing").present()).toMatchObject({ store: { ready: false } });
});

test("a figure that cannot be read is omitted, and reported once", async () => {
  const { present, failures } = overviewOf({ total: broken });
  const withoutTotal = { total: undefined, ratePerSecond: 1 / 60, store: { ready: true } };
  expect(await present()).toMatchObject(withoutTotal);
  expect(await present()).toMatchObject(withoutTotal);
  expect(failures).toEqual(["total"]);
});

test("a chart that cannot be counted is reported once", async () => {
  const { present, failures } = overviewOf({
    createdPerBucket: async (_from, buckets) => (buckets === 1 ? [60] : broken()),
  });
  await present();
  expect(await present()).toMatchObject({ total: "1", ratePerSecond: 1, perMinute: undefined });
  expect(failures).toEqual(["perMinute", "perHour"]);
});

test("the overview is refused if no figure can be read", async () => {
  const { present } = overviewOf({ total: broken, createdPerBucket: broken });
  await expect(present()).rejects.toMatchObject({ kind: "store-unavailable" });
});

test("the overview does not wait for a count of the week that takes long", async () => {
  const week = Promise.withResolvers<readonly number[]>();
  const { present } = overviewOf({
    createdPerBucket: async (_from, buckets, bucketMs) =>
      bucketMs === minuteMs ? Array(buckets).fill(0) : week.promise,
  });
  expect(await present()).toMatchObject({ total: "1", perHour: undefined });
  week.resolve([1, 2, 3]);
  expect(await present()).toMatchObject({ perHour: { creates: [1, 2, 3], refusals: [0, 0, 0] } });
});
