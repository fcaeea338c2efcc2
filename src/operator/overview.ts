import { setTimeout as sleep } from "node:timers/promises";
import packageFile from "../../package.json" with { type: "json" };
import { catalogue, publicKinds } from "../http/error-catalogue.ts";
import { HttpError } from "../http/http-error.ts";
import { type Route, route } from "../http/route.ts";
import type { PlantArchive } from "../plants/plant-archive.ts";
import { type Counters, quantile } from "../telemetry/counters.ts";
import type { OperatorParts } from "./operator-parts.ts";
import { isoTime } from "./parameters.ts";

type OverviewParts = Pick<
  OperatorParts,
  "archive" | "intake" | "engine" | "lastBackup" | "counters" | "events"
>;

const minutesReported = 180;
const minuteMs = 60_000;
const rateOverMs = 10_000;
const hoursReported = 168;
const hourMs = 3_600_000;
const recountHoursAfterMs = 20_000;
// Counting a week may read an entire index: rarely enough to use a small share of a core, whatever the store's size.
const recountShare = 20;
const firstCountWaitMs = 150;
// A plant gets its time before it is committed, and the nodes' clocks differ; after this, a minute gets no more plants.
const settledAfterMs = 30_000;
// Except plants copied from another store, so all minutes are recounted now and then.
const recountMinutesAfterMs = 600_000;

export function overviewRoute(parts: OverviewParts): Route {
  const overview = new Overview(parts);
  return route("GET", "/api/overview", "operator:read", async (exchange) =>
    exchange.json(await overview.read(Date.now())),
  );
}

/** What the console's first page shows. */
export class Overview {
  readonly #parts: OverviewParts;
  readonly #minutes: MinuteCounts;
  readonly #hours: HourCounts;
  readonly #failing = new Set<string>();
  readonly #startedAt = new Date().toISOString();

  constructor(parts: OverviewParts) {
    this.#parts = parts;
    this.#minutes = new MinuteCounts(parts.archive);
    this.#hours = new HourCounts(parts.archive);
  }

  async read(nowMs: number) {
    const { archive, intake, engine, lastBackup, counters, events } = this.#parts;
    const [total, perMinute, ratePerSecond, diskUsage, lastBackupAt, ready, perHour] = await Promise.all([
      this.#figure("total", archive.total().then(String)),
      this.#figure("perMinute", this.#minutes.at(nowMs)),
      this.#figure("ratePerSecond", recentRate(archive, nowMs)),
      this.#figure("diskUsage", archive.diskUsage()),
      this.#figure("lastBackupAt", timeOfLast(lastBackup)),
      intake.ready(),
      this.#hours.latest(),
    ]);
    if (total === undefined && perMinute === undefined && ratePerSecond === undefined)
      throw new HttpError("store-unavailable", "The store cannot be read right now.");
    return {
      total,
      perMinute: perMinute && withRefusals(perMinute, (...span) => events.refusals.perMinute(...span)),
      perHour: perHour && withRefusals(perHour, (...span) => events.refusals.perHour(...span)),
      ratePerSecond,
      refusals: refusalsByError(counters),
      store: { engine, ready, ...diskUsage, lastBackupAt, fsync: fsyncTimes(counters) },
      version: packageFile.version,
      startedAt: this.#startedAt,
    };
  }

  /** Undefined if it cannot be read: it is omitted, and the others are sent. */
  async #figure<Value>(name: string, read: Promise<Value>): Promise<Value | undefined> {
    try {
      const value = await read;
      this.#failing.delete(name);
      return value;
    } catch (reason) {
      if (!this.#failing.has(name)) this.#parts.events.figureFailed(name, reason);
      this.#failing.add(name);
      return undefined;
    }
  }
}

/** Null before the first backup; undefined if the database has its own. */
async function timeOfLast(lastBackup: OverviewParts["lastBackup"]): Promise<string | null | undefined> {
  return lastBackup && (isoTime((await lastBackup())?.atMs) ?? null);
}

interface CountsOverTime {
  readonly fromMs: number;
  readonly creates: readonly number[];
}

function withRefusals(
  { fromMs, creates }: CountsOverTime,
  refusalsFrom: (fromMs: number, steps: number) => readonly number[],
) {
  return {
    from: isoTime(fromMs),
    creates,
    refusals: refusalsFrom(fromMs, creates.length),
  };
}

/** Of the public listener since the start, the most frequent first. */
function refusalsByError(counters: Counters) {
  return publicKinds
    .map((kind) => catalogue[kind])
    .map(({ error, when }) => ({ error, reason: when, count: counters.value(`public:${error}`) }))
    .filter(({ count }) => count > 0)
    .sort((one, other) => other.count - one.count);
}

async function recentRate(archive: PlantArchive, nowMs: number): Promise<number> {
  const [recent = 0] = await archive.createdPerBucket(nowMs - rateOverMs, 1, minuteMs);
  return recent / (rateOverMs / 1000);
}

/** Plants in each of the last minutes. A minute that is long past is counted once, not on each refresh. */
export class MinuteCounts {
  readonly #archive: PlantArchive;
  #counted: CountsOverTime = { fromMs: 0, creates: [] };
  #countedAtMs = 0;
  #countedAllAtMs = 0;

  constructor(archive: PlantArchive) {
    this.#archive = archive;
  }

  async at(nowMs: number): Promise<CountsOverTime> {
    const untilMs = startOf(nowMs, minuteMs) + minuteMs;
    const fromMs = untilMs - minutesReported * minuteMs;
    const all = nowMs - this.#countedAllAtMs >= recountMinutesAfterMs;
    const settledUntilMs = startOf(this.#countedAtMs - settledAfterMs, minuteMs);
    const startMs = all ? fromMs : Math.max(fromMs, settledUntilMs);
    const indexOf = (minute: number) => (minute - this.#counted.fromMs) / minuteMs;
    const settled = this.#counted.creates.slice(indexOf(fromMs), indexOf(startMs));
    const fresh = await this.#archive.createdPerBucket(startMs, (untilMs - startMs) / minuteMs, minuteMs);
    if (all) this.#countedAllAtMs = nowMs;
    this.#countedAtMs = nowMs;
    this.#counted = { fromMs, creates: [...settled, ...fresh] };
    return this.#counted;
  }
}

/** Plants in each of the last hours, counted in the background: nobody waits for a count of millions. */
class HourCounts {
  readonly #archive: PlantArchive;
  #counted: CountsOverTime | undefined;
  #counting: Promise<void> | undefined;
  #dueMs = Number.NEGATIVE_INFINITY;

  constructor(archive: PlantArchive) {
    this.#archive = archive;
  }

  /** The last count; undefined while the first takes long. */
  async latest(): Promise<CountsOverTime | undefined> {
    if (this.#counting === undefined && performance.now() >= this.#dueMs) this.#counting = this.#count();
    if (this.#counted === undefined) await Promise.race([this.#counting, sleep(firstCountWaitMs)]);
    return this.#counted;
  }

  async #count(): Promise<void> {
    const startMs = performance.now();
    // The current hour is the last.
    const fromMs = startOf(Date.now(), hourMs) - (hoursReported - 1) * hourMs;
    try {
      const creates = await this.#archive.createdPerBucket(fromMs, hoursReported, hourMs);
      this.#counted = { fromMs, creates };
    } catch {
      // The figures beside it come from the same store, and report that it cannot be read.
    }
    const tookMs = performance.now() - startMs;
    this.#dueMs = performance.now() + Math.max(recountHoursAfterMs, tookMs * recountShare);
    this.#counting = undefined;
  }
}

function startOf(timeMs: number, unitMs: number): number {
  return Math.floor(timeMs / unitMs) * unitMs;
}

/** The median and the 99th percentile of the fsyncs since the start, of each file that had any. */
function fsyncTimes(counters: Counters) {
  const times = (["wal", "data"] as const).flatMap((file) => {
    const observed = counters.histogram(`fsync:${file}`).observed();
    if (observed.count === 0) return [];
    const millis = (share: number): number => Number((quantile(observed, share) * 1000).toPrecision(2));
    return [[file, { count: observed.count, medianMs: millis(0.5), p99Ms: millis(0.99) }] as const];
  });
  return times.length === 0 ? undefined : Object.fromEntries(times);
}
