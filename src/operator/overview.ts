import packageFile from "../../package.json" with { type: "json" };
import type { Readiness } from "../http/health.ts";
import { Refusal } from "../http/refusal.ts";
import type { PlantArchive } from "../plants/plant-archive.ts";
import { waitAtMost } from "../retry/wait-at-most.ts";
import type { Events } from "../telemetry/events.ts";
import { hourMs, minuteMs } from "../text/duration.ts";
import { isoTime } from "../text/time.ts";
import type { OperatedStore } from "./operator-dependencies.ts";
import type { CountsOverTimeJson, OverviewJson } from "./responses.ts";

/** What the figures are read from. */
interface OverviewSources {
  readonly store: OperatedStore;
  readonly readiness: Readiness;
  readonly events: Events;
  readonly startedAtMs: number;
}

const minutes = { stepMs: minuteMs, steps: 180, recountAfterMs: 0 };
const hours = { stepMs: hourMs, steps: 168, recountAfterMs: 20_000 };
// A count may read an entire index. It is repeated after this many times its own duration, and so uses a small share of a core,
// whatever the size of the store.
const recountShare = 20;
// A count that takes longer is for the next refresh.
const countWaitMsMax = 150;

/** What the console's first page shows. */
export class Overview {
  readonly #sources: OverviewSources;
  readonly #minutes: RecentCounts;
  readonly #hours: RecentCounts;
  readonly #failing = new Set<string>();

  constructor(sources: OverviewSources) {
    this.#sources = sources;
    this.#minutes = new RecentCounts(sources, minutes);
    this.#hours = new RecentCounts(sources, hours);
  }

  async present(nowMs: number): Promise<OverviewJson> {
    const { store, readiness, events, startedAtMs } = this.#sources;
    const [total, ratePerSecond, diskUsage, lastBackupAt, state, perMinute, perHour] = await Promise.all([
      this.#figure("total", store.archive.total().then(String)),
      this.#figure("ratePerSecond", recentRate(store.archive, nowMs)),
      this.#figure("diskUsage", store.archive.diskUsage()),
      this.#figure("lastBackupAt", timeOfLastBackup(store)),
      readiness.check(),
      this.#figure("perMinute", this.#minutes.at(nowMs)),
      this.#figure("perHour", this.#hours.at(nowMs)),
    ]);
    if (total === undefined && ratePerSecond === undefined)
      throw new Refusal("store-unavailable", "The store cannot be read right now.");
    return {
      total,
      perMinute,
      perHour,
      ratePerSecond,
      refused: { inLastMinute: events.refusals.inLastMinute(Date.now()), sinceStart: events.refusals.total },
      store: {
        engine: store.engine,
        ready: state === "ready",
        bytes: diskUsage?.bytes,
        walBytes: diskUsage?.walBytes,
        diskFreeBytes: diskUsage?.diskFreeBytes,
        lastBackupAt,
      },
      version: packageFile.version,
      startedAt: isoTime(startedAtMs),
    };
  }

  /** The figure; undefined if it cannot be read: then it is omitted, and the others are sent. */
  async #figure<Value>(name: string, read: Promise<Value>): Promise<Value | undefined> {
    try {
      const value = await read;
      this.#failing.delete(name);
      return value;
    } catch (reason) {
      if (!this.#failing.has(name)) this.#sources.events.figureFailed(name, reason);
      this.#failing.add(name);
      return undefined;
    }
  }
}

/** When the last backup was started; null before the first, and undefined if the database has backups of its own. */
async function timeOfLastBackup(store: OperatedStore): Promise<string | null | undefined> {
  if (store.lastBackup === undefined) return undefined;
  const last = await store.lastBackup();
  return last === undefined ? null : isoTime(last.atMs);
}

/** The mean of the last minute, because it stands beside the peak, which is the mean of a minute too. */
async function recentRate(archive: PlantArchive, nowMs: number): Promise<number> {
  const [recent = 0] = await archive.createdPerBucket(nowMs - minutes.stepMs, 1, minutes.stepMs);
  return recent / (minutes.stepMs / 1000);
}

/** What happened in each of the last minutes or hours, counted in the background: nobody waits for a count of millions. */
class RecentCounts {
  readonly #sources: OverviewSources;
  readonly #span: typeof minutes;
  /** The last count, unless it failed. */
  #counted: { readonly fromMs: number; readonly creates: readonly number[] } | undefined;
  /** Why the last count failed, if it did. */
  #failure: { readonly reason: unknown } | undefined;
  #counting: Promise<void> | undefined;
  #dueMs = Number.NEGATIVE_INFINITY;

  constructor(sources: OverviewSources, span: typeof minutes) {
    this.#sources = sources;
    this.#span = span;
  }

  /** The last count; undefined while the first takes long. Rejects if the last one failed. */
  async at(nowMs: number): Promise<CountsOverTimeJson | undefined> {
    if (this.#counting === undefined && performance.now() >= this.#dueMs) this.#counting = this.#count(nowMs);
    if (this.#counting !== undefined) await waitAtMost(countWaitMsMax, this.#counting);
    if (this.#failure !== undefined) throw this.#failure.reason;
    if (this.#counted === undefined) return undefined;
    const { fromMs, creates } = this.#counted;
    const refusals = this.#sources.events.refusals.counts(fromMs, creates.length, this.#span.stepMs);
    return { from: isoTime(fromMs), creates, refusals };
  }

  async #count(nowMs: number): Promise<void> {
    const { stepMs, steps, recountAfterMs } = this.#span;
    const startedMs = performance.now();
    // The current minute or hour is the last.
    const fromMs = (Math.floor(nowMs / stepMs) - steps + 1) * stepMs;
    try {
      const creates = await this.#sources.store.archive.createdPerBucket(fromMs, steps, stepMs);
      this.#counted = { fromMs, creates };
      this.#failure = undefined;
    } catch (reason) {
      // It is reported by whoever asks for the count: this one may end after nobody waits for it any more.
      this.#counted = undefined;
      this.#failure = { reason };
    }
    const tookMs = performance.now() - startedMs;
    this.#dueMs = performance.now() + Math.max(recountAfterMs, tookMs * recountShare);
    this.#counting = undefined;
  }
}
