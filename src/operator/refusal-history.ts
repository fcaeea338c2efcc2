import { catalogue } from "../http/error-catalogue.ts";
import type { RefusalCount } from "../telemetry/refusal-tally.ts";

const minuteMs = 60_000;
const hourMs = 3_600_000;
const hoursMax = 168;
const minutesMax = 180;
const tokensReported = 10;
const tokensMax = 1000;

// So that each is counted in its own minute.
const collectEveryMs = 5000;

/** A thread, or several, that count what they refuse. */
interface RefusalSource {
  takeRefusals(): readonly RefusalCount[] | Promise<readonly RefusalCount[]>;
}

const reasonOf = new Map(Object.values(catalogue).map(({ error, when }) => [error, when]));

/** What the public listener refused in the last week, by minute, hour, reason and token, in bounded memory. */
export class RefusalHistory implements Disposable {
  readonly #sources: readonly RefusalSource[];
  readonly #sinceMs = Date.now();
  readonly #timer: NodeJS.Timeout;
  readonly #minutes = new Map<number, number>();
  readonly #hours = new Map<number, number>();
  readonly #reasons = new Map<number, number>();
  readonly #tokens = new Map<string, number>();
  #collecting: Promise<void> | undefined;

  constructor(sources: readonly RefusalSource[]) {
    this.#sources = sources;
    this.#timer = setInterval(() => void this.collect(Date.now()), collectEveryMs).unref();
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  /** Adds what was refused since the last call to the current minute. */
  collect(nowMs: number): Promise<void> {
    this.#collecting ??= this.#add(nowMs).finally(() => {
      this.#collecting = undefined;
    });
    return this.#collecting;
  }

  perMinute(fromMs: number, minutes: number): number[] {
    return Array.from({ length: minutes }, (_, index) => this.#minutes.get(fromMs + index * minuteMs) ?? 0);
  }

  perHour(fromMs: number, hours: number): number[] {
    return Array.from({ length: hours }, (_, index) => this.#hours.get(fromMs + index * hourMs) ?? 0);
  }

  present() {
    const reasons = Array.from(this.#reasons, ([error, count]) => ({
      error,
      reason: reasonOf.get(error) ?? "",
      count,
    }));
    const tokens = Array.from(this.#tokens, ([token, count]) => ({ token, count }));
    return {
      since: new Date(this.#sinceMs).toISOString(),
      reasons: reasons.sort((one, other) => other.count - one.count),
      tokens: tokens.sort((one, other) => other.count - one.count).slice(0, tokensReported),
    };
  }

  async #add(nowMs: number): Promise<void> {
    const minute = Math.floor(nowMs / minuteMs) * minuteMs;
    const hour = Math.floor(nowMs / hourMs) * hourMs;
    const counts = await Promise.all(this.#sources.map((source) => source.takeRefusals()));
    for (const { error, token, count } of counts.flat()) {
      add(this.#minutes, minute, count);
      add(this.#hours, hour, count);
      add(this.#reasons, error, count);
      if (token !== "" && (this.#tokens.has(token) || this.#tokens.size < tokensMax))
        add(this.#tokens, token, count);
    }
    removeBefore(this.#minutes, minute - minutesMax * minuteMs);
    removeBefore(this.#hours, hour - hoursMax * hourMs);
  }
}

function add<Key>(counts: Map<Key, number>, key: Key, count: number): void {
  counts.set(key, (counts.get(key) ?? 0) + count);
}

function removeBefore(counts: Map<number, number>, ms: number): void {
  for (const key of counts.keys()) if (key < ms) counts.delete(key);
}
