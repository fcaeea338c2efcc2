import { setTimeout as sleep } from "node:timers/promises";
import { ServiceRefused, ServiceUnreachable } from "../../client/plant-store-client.ts";
import { StoreUnavailable } from "../../plants/plant-store.ts";

/** The message is all that the user needs. */
export class FollowProblem extends Error {
  override readonly name = "FollowProblem";
}

/** The other side does not respond, or not as expected; a later attempt may succeed. */
export class Unavailable extends Error {
  override readonly name = "Unavailable";
}

/** The user has asked to stop. */
export class Stopped extends Error {
  override readonly name = "Stopped";
}

export interface RetryOptions {
  /** Failures in a row until it gives up. */
  readonly attemptsMax: number;
  readonly stop: AbortSignal;
  /** Called with the first failure of each outage, and when it is over. */
  readonly report: (line: string) => void;
}

const backoffMs = 100;
const backoffMsMax = 2000;
const serverErrors = 500;
const retried = [408, 429];

/** Retries transient failures, such as a restart of the other side. */
export class Retry {
  readonly #options: RetryOptions;
  readonly stop: AbortSignal;

  constructor(options: RetryOptions) {
    this.#options = options;
    this.stop = options.stop;
  }

  /** @throws Stopped; FollowProblem if it gave up; any error that a retry cannot fix. */
  async run<Result>(work: () => Promise<Result>): Promise<Result> {
    for (let failures = 0; ; ) {
      try {
        const result = await work();
        if (failures > 0) this.#options.report("connected again");
        return result;
      } catch (error) {
        if (this.stop.aborted) throw new Stopped();
        if (!isTransient(error)) throw error;
        failures++;
        const reason = (error as Error).message;
        if (failures >= this.#options.attemptsMax) throw new FollowProblem(reason);
        if (failures === 1) this.#options.report(`${reason} Retrying.`);
        await this.#wait(failures);
      }
    }
  }

  /** @throws Stopped */
  pause(): Promise<void> {
    return this.#wait(1);
  }

  async #wait(failures: number): Promise<void> {
    const delayMs = Math.min(backoffMs * 2 ** (failures - 1), backoffMsMax);
    try {
      // Jitter, so that followers that lost the same service do not reconnect together.
      await sleep((delayMs * (1 + Math.random())) / 2, undefined, { signal: this.stop });
    } catch {
      throw new Stopped();
    }
  }
}

function isTransient(error: unknown): boolean {
  if (error instanceof ServiceRefused) return error.status >= serverErrors || retried.includes(error.status);
  return [Unavailable, ServiceUnreachable, StoreUnavailable].some((type) => error instanceof type);
}
