import { type Serving, serve } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";
import { post } from "../support/post-plants.ts";
import type { PlantRow } from "../support/stored-plants.ts";
import { accessTokenEnvironment } from "../support/tokens.ts";

export interface Soak {
  readonly summary: string;
  readonly unit: "rounds" | "minutes";
  /** By default. */
  readonly rounds: number;
  readonly run: (run: SoakRun) => Promise<Figures[]>;
}

export interface SoakRun {
  readonly rounds: number;
  /** From 0 to 1. The same in each run with the same seed. */
  readonly random: () => number;
  readonly tell: (line: string) => void;
}

/** What one part of a soak found. */
export interface Figures {
  readonly what: string;
  readonly rounds: number;
  readonly acknowledged: number;
  /** Acknowledged plants that are missing or different. */
  readonly lost: number;
  readonly note?: string;
  readonly failure?: string;
}

/** Everything acknowledged must be stored; where nothing was acknowledged, nothing was tried. */
export function judged(figures: Omit<Figures, "failure">): Figures {
  if (figures.acknowledged === 0) return { ...figures, failure: "no plant was acknowledged" };
  return figures.lost === 0 ? figures : { ...figures, failure: "ACKNOWLEDGED PLANTS ARE LOST" };
}

/** The same without what makes plants durable: if nothing is lost there, the soak could not notice a loss. */
export function judgedControl(figures: Omit<Figures, "failure">): Figures {
  return figures.lost > 0
    ? figures
    : { ...figures, failure: "the control lost nothing, so this soak proves nothing" };
}

export function notRun(what: string, why: string): Figures {
  return { what, rounds: 0, acknowledged: 0, lost: 0, note: `not run: ${why}` };
}

/** Mulberry32. */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** The service as a process, without the operator listener. */
export function serveOn(database: string, environment: Record<string, string> = {}): Promise<Serving> {
  return serve(["--database", database, "--operator-listen", "off"], {
    environment: { ...accessTokenEnvironment, ...environment },
  });
}

const retryMs = 20;

/** Clients that each send a plant until it is acknowledged, and then the next one; and a record of all acknowledged plants. */
export class Clients implements AsyncDisposable {
  readonly #acknowledged = new Map<string, string>();
  readonly #url: () => string | undefined;
  readonly #running: Promise<void>[];
  #next: bigint;
  #stopped = false;
  /** While it is true, responses are not recorded, and nothing is sent. */
  paused = false;
  /** Requests without a 200, each of which was sent again. */
  failures = 0;
  /** The longest time without any 200. */
  silenceMs = 0;
  #lastMs = performance.now();

  /** `url`: of the service, or undefined while there is none. The plants are numbered from `first` on. */
  constructor(count: number, url: () => string | undefined, first = 0n) {
    this.#url = url;
    this.#next = first;
    this.#running = Array.from({ length: count }, () => this.#client());
  }

  get acknowledged(): number {
    return this.#acknowledged.size;
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all(this.#running);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  /** Resolves when every client can have had another plant acknowledged. */
  async acknowledgedAgain(): Promise<void> {
    const before = this.acknowledged;
    await eventually(() => this.acknowledged > before + this.#running.length, "more acknowledged plants");
  }

  /** How many of the plants that are acknowledged by now are not in the store, or changed there. */
  async lostIn(stored: () => PlantRow[] | Promise<PlantRow[]>): Promise<number> {
    const acknowledged = [...this.#acknowledged];
    const names = new Map((await stored()).map(({ id, name }) => [String(id), name]));
    return acknowledged.filter(([id, name]) => names.get(id) !== name).length;
  }

  async #client(): Promise<void> {
    while (!this.#stopped) {
      // Spread over all of int64, so that rows go to every page of the index.
      const id = String(BigInt.asIntN(64, this.#next * 0x9e3779b97f4a7c15n));
      this.#next++;
      const name = `plant ${id} ${"x".repeat(100)}`;
      while (!this.#stopped && !(await this.#isAcknowledged(id, name))) await Bun.sleep(retryMs);
    }
  }

  async #isAcknowledged(id: string, name: string): Promise<boolean> {
    const url = this.paused ? undefined : this.#url();
    if (url === undefined) return false;
    const response = await post(url, `{"id":${id},"name":"${name}","tag":"soak"}`).catch(() => undefined);
    const text = await response?.text().catch(() => undefined);
    // Not caught: it ends the soak.
    if (response && response.status >= 400 && response.status < 500) throw new Error(text);
    if (this.paused) return false;
    if (response?.status !== 200 || text === undefined) {
      this.failures++;
      return false;
    }
    this.#acknowledged.set(id, name);
    this.silenceMs = Math.max(this.silenceMs, performance.now() - this.#lastMs);
    this.#lastMs = performance.now();
    return true;
  }
}
