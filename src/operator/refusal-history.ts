import { catalogue } from "../http/error-catalogue.ts";
import type { RefusalCount } from "../telemetry/refusal-tally.ts";

/** A thread, or several, that count what they refuse. */
interface RefusalSource {
  takeRefusals(): readonly RefusalCount[] | Promise<readonly RefusalCount[]>;
}

/** Stores a text across restarts. Neither fails: counts are not worth an error. */
export interface StoredText {
  read(): string | undefined;
  write(text: string): Promise<void>;
}

interface Snapshot {
  readonly sinceMs: number;
  readonly minutes: readonly (readonly [number, number])[];
  readonly hours: readonly (readonly [number, readonly RefusalCount[]])[];
}

const minuteMs = 60_000;
const hourMs = 3_600_000;
const minutesMax = 180;
const hoursMax = 168;
// Of one hour, by reason and token; beyond this many, tokens are not distinguished.
const countsPerHourMax = 200;
const tokensReported = 10;
// So that each is counted in its own minute.
const collectEveryMs = 5000;
const writeEveryMs = 60_000;

const reasonOf = new Map(Object.values(catalogue).map(({ error, when }) => [error, when]));

/** What the public listener refused in the last week, by minute, hour, reason and token, in bounded memory. */
export class RefusalHistory implements AsyncDisposable {
  readonly #sources: readonly RefusalSource[];
  readonly #stored: StoredText | undefined;
  #sinceMs = Date.now();
  readonly #minutes = new Map<number, number>();
  readonly #hours = new Map<number, Map<string, RefusalCount>>();
  readonly #timers: readonly NodeJS.Timeout[];
  #collecting: Promise<void> | undefined;
  #changed = false;

  constructor(sources: readonly RefusalSource[], stored?: StoredText) {
    this.#sources = sources;
    this.#stored = stored;
    this.#restore(stored?.read());
    this.#timers = [
      setInterval(() => void this.collect(Date.now()), collectEveryMs).unref(),
      setInterval(() => void this.#write(), writeEveryMs).unref(),
    ];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer);
    await this.collect(Date.now());
    await this.#write();
  }

  /** Adds what was refused since the last call to the current minute. */
  collect(nowMs: number): Promise<void> {
    this.#collecting ??= this.#collect(nowMs).finally(() => {
      this.#collecting = undefined;
    });
    return this.#collecting;
  }

  perMinute(fromMs: number, minutes: number): number[] {
    return Array.from({ length: minutes }, (_, index) => this.#minutes.get(fromMs + index * minuteMs) ?? 0);
  }

  perHour(fromMs: number, hours: number): number[] {
    const sumOf = (counts: Iterable<RefusalCount>) => [...counts].reduce((sum, { count }) => sum + count, 0);
    return Array.from({ length: hours }, (_, index) =>
      sumOf(this.#hours.get(fromMs + index * hourMs)?.values() ?? []),
    );
  }

  /** Over the last week, the most frequent first. */
  present() {
    const reasons = new Map<number, number>();
    const tokens = new Map<string, number>();
    for (const hour of this.#hours.values())
      for (const { error, token, count } of hour.values()) {
        reasons.set(error, (reasons.get(error) ?? 0) + count);
        if (token !== "") tokens.set(token, (tokens.get(token) ?? 0) + count);
      }
    const sinceMs = Math.max(this.#sinceMs, Date.now() - hoursMax * hourMs);
    return {
      since: new Date(sinceMs).toISOString(),
      reasons: byCount(reasons).map(([error, count]) => ({
        error,
        reason: reasonOf.get(error) ?? "",
        count,
      })),
      tokens: byCount(tokens)
        .slice(0, tokensReported)
        .map(([token, count]) => ({ token, count })),
    };
  }

  async #collect(nowMs: number): Promise<void> {
    const minute = Math.floor(nowMs / minuteMs) * minuteMs;
    const hour = Math.floor(nowMs / hourMs) * hourMs;
    const counts = await Promise.all(this.#sources.map((source) => source.takeRefusals()));
    for (const counted of counts.flat()) {
      this.#minutes.set(minute, (this.#minutes.get(minute) ?? 0) + counted.count);
      this.#addToHour(hour, counted);
      this.#changed = true;
    }
    removeUntil(this.#minutes, minute - minutesMax * minuteMs);
    removeUntil(this.#hours, hour - hoursMax * hourMs);
  }

  #addToHour(hourMs: number, counted: RefusalCount): void {
    const hour = this.#hours.get(hourMs) ?? new Map<string, RefusalCount>();
    this.#hours.set(hourMs, hour);
    const key = `${counted.error} ${counted.token}`;
    const known = hour.get(key);
    if (known === undefined && hour.size >= countsPerHourMax && counted.token !== "")
      return this.#addToHour(hourMs, { ...counted, token: "" });
    hour.set(key, { ...counted, count: counted.count + (known?.count ?? 0) });
  }

  async #write(): Promise<void> {
    if (!this.#changed || this.#stored === undefined) return;
    this.#changed = false;
    const stored: Snapshot = {
      sinceMs: this.#sinceMs,
      minutes: [...this.#minutes],
      hours: Array.from(this.#hours, ([hour, counts]) => [hour, [...counts.values()]] as const),
    };
    await this.#stored.write(JSON.stringify(stored));
  }

  // If the text is malformed, counting starts over.
  #restore(text: string | undefined): void {
    if (text === undefined) return;
    try {
      const { sinceMs, minutes, hours } = JSON.parse(text) as Snapshot;
      for (const [minute, count] of minutes.slice(-minutesMax))
        this.#minutes.set(Number(minute), Number(count));
      for (const [hour, counts] of hours.slice(-hoursMax))
        for (const { error, token, count } of counts.slice(0, countsPerHourMax))
          this.#addToHour(Number(hour), { error: Number(error), token: String(token), count: Number(count) });
      this.#sinceMs = Math.min(this.#sinceMs, Number(sinceMs) || this.#sinceMs);
    } catch {
      this.#minutes.clear();
      this.#hours.clear();
    }
  }
}

function byCount<Key>(counts: ReadonlyMap<Key, number>): [Key, number][] {
  return [...counts].sort(([, one], [, other]) => other - one);
}

function removeUntil(counts: Map<number, unknown>, untilMs: number): void {
  for (const key of counts.keys()) if (key <= untilMs) counts.delete(key);
}
