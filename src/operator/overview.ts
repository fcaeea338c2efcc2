import { setTimeout as sleep } from "node:timers/promises";
import packageFile from "../../package.json" with { type: "json" };
import { HttpError } from "../http/http-error.ts";
import { jsonContent } from "../http/openapi.ts";
import type { Route } from "../http/route.ts";
import type { PlantIntake } from "../plants/intake.ts";
import type { PlantArchive, TagCount } from "../plants/plant-archive.ts";
import type { Counters } from "../telemetry/counters.ts";
import type { Events } from "../telemetry/events.ts";
import { fsyncTimes } from "./fsync-times.ts";
import { HourCounts } from "./hour-counts.ts";
import type { RefusalHistory } from "./refusal-history.ts";

export interface OverviewParts {
  readonly archive: PlantArchive;
  readonly intake: PlantIntake;
  readonly engine: string;
  /** Undefined where the database has backups of its own. */
  readonly lastBackup?: (() => Promise<{ readonly atMs: number } | undefined>) | undefined;
  readonly startedAtMs: number;
  readonly refusals: RefusalHistory;
  readonly counters: Counters;
  readonly events: Pick<Events, "figureFailed">;
}

const minutesReported = 180;
const minuteMs = 60_000;
const rateOverMs = 10_000;
const tagsReported = 10;
// Counting reads the whole index of tags: rarely enough to use a small share of one core, whatever the store's size.
const recountAfterMs = 2000;
const recountShare = 20;
const firstCountWaitMs = 150;
// A plant's time is taken before it is committed, and clocks of nodes differ; past this, a minute gets no more plants.
const settledAfterMs = 30_000;
// Except those that are copied from another store, so all minutes are counted again now and then.
const recountMinutesAfterMs = 600_000;

export const overview = {
  method: "GET",
  path: "/api/overview",
  scope: "operator:read",
  operation: {
    operationId: "overview",
    tags: ["plants"],
    summary: "Totals, creates per minute, the most used tags, and the state of the store.",
    success: { status: 200, description: "The figures now.", content: jsonContent("Overview") },
  },
  handler({ archive, intake, engine, lastBackup, startedAtMs, refusals, counters, events }) {
    const tags = new TagCounts(archive);
    const minutes = new MinuteCounts(archive);
    const hours = new HourCounts(archive);
    const failing = new Set<string>();
    // A figure that cannot be read is left out, and the others are sent.
    const figure = async <Value>(name: string, read: Promise<Value>): Promise<Value | undefined> => {
      try {
        const value = await read;
        failing.delete(name);
        return value;
      } catch (reason) {
        if (!failing.has(name)) events.figureFailed(name, reason);
        failing.add(name);
        return undefined;
      }
    };
    return async (exchange) => {
      const nowMs = Date.now();
      const [total, perMinute, ratePerSecond, diskUsage, lastBackupAt, ready, topTags, perHour] =
        await Promise.all([
          figure("total", archive.total().then(String)),
          figure("perMinute", minutes.at(nowMs)),
          figure("ratePerSecond", recentRate(archive, nowMs)),
          figure("diskUsage", archive.diskUsage()),
          figure("lastBackupAt", timeOfLast(lastBackup)),
          intake.ready(),
          tags.latest(),
          hours.latest(),
          refusals.collect(nowMs),
        ]);
      if (total === undefined && perMinute === undefined && ratePerSecond === undefined)
        throw new HttpError("store-unavailable", "The store cannot be read right now.");
      exchange.json({
        total,
        perMinute: perMinute && withRefusals(perMinute, (...span) => refusals.perMinute(...span)),
        perHour: perHour && withRefusals(perHour, (...span) => refusals.perHour(...span)),
        ratePerSecond,
        topTags,
        refusals: refusals.present(),
        store: { engine, ready, ...diskUsage, lastBackupAt, fsync: fsyncTimes(counters) },
        version: packageFile.version,
        startedAt: new Date(startedAtMs).toISOString(),
      });
    };
  },
} satisfies Route<OverviewParts>;

/** Null before the first backup; undefined where the database has its own. */
async function timeOfLast(lastBackup: OverviewParts["lastBackup"]): Promise<string | null | undefined> {
  if (lastBackup === undefined) return undefined;
  const last = await lastBackup();
  return last === undefined ? null : new Date(last.atMs).toISOString();
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
    from: new Date(fromMs).toISOString(),
    creates,
    refusals: refusalsFrom(fromMs, creates.length),
  };
}

async function recentRate(archive: PlantArchive, nowMs: number): Promise<number> {
  const [recent = 0] = await archive.createdPerMinute(nowMs - rateOverMs, 1);
  return recent / (rateOverMs / 1000);
}

/** Plants in each of the last minutes. A minute that is long over is counted once and not on each refresh. */
export class MinuteCounts {
  readonly #archive: PlantArchive;
  readonly #settled = new Map<number, number>();
  #countedAllAtMs = 0;

  constructor(archive: PlantArchive) {
    this.#archive = archive;
  }

  async at(nowMs: number): Promise<CountsOverTime> {
    const fromMs = (Math.floor(nowMs / minuteMs) + 1 - minutesReported) * minuteMs;
    const untilMs = fromMs + minutesReported * minuteMs;
    const all = nowMs - this.#countedAllAtMs >= recountMinutesAfterMs;
    const settled: number[] = [];
    for (let minute = fromMs; !all; minute += minuteMs) {
      const count = this.#settled.get(minute);
      if (count === undefined) break;
      settled.push(count);
    }
    const startMs = fromMs + settled.length * minuteMs;
    const fresh = await this.#archive.createdPerMinute(startMs, (untilMs - startMs) / minuteMs);
    if (all) this.#countedAllAtMs = nowMs;
    for (const [index, count] of fresh.entries()) {
      const minute = startMs + index * minuteMs;
      if (minute + minuteMs + settledAfterMs <= nowMs) this.#settled.set(minute, count);
    }
    for (const minute of this.#settled.keys()) if (minute < fromMs) this.#settled.delete(minute);
    return { fromMs, creates: [...settled, ...fresh] };
  }
}

interface Counted {
  readonly countedAt: string;
  readonly tags: readonly { readonly tag: string; readonly plants: string }[];
}

/** The most used tags as of the last count: nobody waits for a count of millions. */
class TagCounts {
  readonly #archive: PlantArchive;
  #counted: Counted | undefined;
  #counting: Promise<void> | undefined;
  #dueMs = Number.NEGATIVE_INFINITY;

  constructor(archive: PlantArchive) {
    this.#archive = archive;
  }

  async latest(): Promise<Counted | undefined> {
    if (this.#counting === undefined && performance.now() >= this.#dueMs) this.#counting = this.#count();
    if (this.#counted === undefined) await Promise.race([this.#counting, sleep(firstCountWaitMs)]);
    return this.#counted;
  }

  async #count(): Promise<void> {
    const startMs = performance.now();
    const countedAtMs = Date.now();
    try {
      this.#counted = presentCounts(await this.#archive.topTags(tagsReported), countedAtMs);
    } catch {
      // The figures beside it come from the same store, and report that it cannot be read.
    }
    const tookMs = performance.now() - startMs;
    this.#dueMs = performance.now() + Math.max(recountAfterMs, tookMs * recountShare);
    this.#counting = undefined;
  }
}

function presentCounts(tags: readonly TagCount[], countedAtMs: number): Counted {
  return {
    countedAt: new Date(countedAtMs).toISOString(),
    tags: tags.map(({ tag, plants }) => ({ tag, plants: String(plants) })),
  };
}
