import packageFile from "../../package.json" with { type: "json" };
import type { Readiness } from "../http/health.ts";
import { Refusal } from "../http/refusal.ts";
import type { PlantArchive } from "../plants/plant-archive.ts";
import { waitAtMost } from "../retry/wait-at-most.ts";
import type { Events } from "../telemetry/events.ts";
import { hourMs, minuteMs } from "../text/duration.ts";
import { isoTime } from "../text/time.ts";
import type { OperatedStore } from "./operator-dependencies.ts";

/** What the figures are read from. */
interface OverviewSources {
  readonly store: OperatedStore;
  readonly readiness: Readiness;
  readonly events: Events;
  readonly startedAtMs: number;
}

const minutes = { stepMs: minuteMs, steps: 180 };
const hours = { stepMs: hourMs, steps: 168 };
// A count may read an entire index. It is repeated after this many times its own duration, and so uses a small share of a core,
// whatever the size of the store.
const recountShare = 20;
// A count that takes longer is for the next refresh.
const countWaitMsMax = 150;

/**
 * Returns what the console's first page shows. A figure that cannot be read at the moment is undefined. On PostgreSQL, which has
 * sizes and backups of its own, those are.
 */
export function createOverview({ store, readiness, events, startedAtMs }: OverviewSources) {
  const { archive } = store;
  const minuteCounts = new RecentCounts(archive, minutes);
  const hourCounts = new RecentCounts(archive, hours);
  const failing = new Set<string>();

  /** The figure; undefined if it cannot be read: then it is omitted, and the others are sent. */
  async function figure<Value>(name: string, read: Promise<Value>): Promise<Value | undefined> {
    try {
      const value = await read;
      failing.delete(name);
      return value;
    } catch (reason) {
      if (!failing.has(name)) events.figureFailed(name, reason);
      failing.add(name);
      return undefined;
    }
  }

  async function chart(counts: RecentCounts, nowMs: number) {
    const counted = await counts.at(nowMs);
    if (counted === undefined) return undefined;
    const { fromMs, creates, stepMs } = counted;
    // They are known since the start of the service only.
    const refusals = events.refusals.counts(fromMs, creates.length, stepMs);
    return { from: isoTime(fromMs), creates, refusals };
  }

  return async (nowMs: number) => {
    const [total, ratePerSecond, disk, lastBackupAt, state, perMinute, perHour] = await Promise.all([
      figure("total", archive.total().then(String)),
      figure("ratePerSecond", recentRate(archive, nowMs)),
      figure("diskUsage", archive.diskUsage()),
      figure("lastBackupAt", timeOfLastBackup(store)),
      readiness.check(),
      figure("perMinute", chart(minuteCounts, nowMs)),
      figure("perHour", chart(hourCounts, nowMs)),
    ]);
    if (total === undefined && ratePerSecond === undefined)
      throw new Refusal("store-unavailable", "The store cannot be read right now.");
    return {
      total,
      perMinute,
      perHour,
      ratePerSecond,
      /** Those of the public listener. */
      refused: { inLastMinute: events.refusals.inLastMinute(Date.now()), sinceStart: events.refusals.total },
      store: {
        engine: store.engine,
        /** As `/readyz` says. */
        ready: state === "ready",
        bytes: disk?.bytes,
        walBytes: disk?.walBytes,
        diskFreeBytes: disk?.diskFreeBytes,
        lastBackupAt,
      },
      version: packageFile.version,
      startedAt: isoTime(startedAtMs),
    };
  };
}

/** When the last backup was started; null before the first, and undefined if the database has backups of its own. */
async function timeOfLastBackup(store: OperatedStore): Promise<string | null | undefined> {
  if (store.lastBackup === undefined) return undefined;
  const last = await store.lastBackup();
  return last === undefined ? null : isoTime(last.atMs);
}

/** The mean of the last minute, because it stands beside the peak, which is the mean of a minute too. */
async function recentRate(archive: PlantArchive, nowMs: number): Promise<number> {
  const [recent = 0] = await archive.createdPerBucket(nowMs - minuteMs, 1, minuteMs);
  return recent / (minuteMs / 1000);
}

/** What was created in each of some consecutive minutes or hours. */
interface Counts {
  readonly fromMs: number;
  readonly stepMs: number;
  readonly creates: readonly number[];
}

/** The last minutes or hours, counted in the background: nobody waits for a count of millions. */
class RecentCounts {
  readonly #archive: PlantArchive;
  readonly #span: typeof minutes;
  #last: PromiseSettledResult<Counts> | undefined;
  #counting: Promise<void> | undefined;
  #dueMs = Number.NEGATIVE_INFINITY;

  constructor(archive: PlantArchive, span: typeof minutes) {
    this.#archive = archive;
    this.#span = span;
  }

  /** The last count; undefined while the first takes long. Rejects if the last one failed. */
  async at(nowMs: number): Promise<Counts | undefined> {
    if (performance.now() >= this.#dueMs) this.#counting ??= this.#count(nowMs);
    if (this.#counting !== undefined) await waitAtMost(countWaitMsMax, this.#counting);
    if (this.#last?.status === "rejected") throw this.#last.reason;
    return this.#last?.value;
  }

  async #count(nowMs: number): Promise<void> {
    const startedMs = performance.now();
    // Why it fails is for whoever asks for the count: this one may end after nobody waits for it any more.
    [this.#last] = await Promise.allSettled([this.#read(nowMs)]);
    const endedMs = performance.now();
    this.#dueMs = endedMs + (endedMs - startedMs) * recountShare;
    this.#counting = undefined;
  }

  async #read(nowMs: number): Promise<Counts> {
    const { stepMs, steps } = this.#span;
    // The current minute or hour is the last.
    const fromMs = (Math.floor(nowMs / stepMs) - steps + 1) * stepMs;
    return { fromMs, stepMs, creates: await this.#archive.createdPerBucket(fromMs, steps, stepMs) };
  }
}
