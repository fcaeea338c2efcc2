import type { JWK } from "jose";
import type { Token, TokenUse } from "../access/tokens.ts";
import type { PlantIntake, Rejected } from "../plants/intake.ts";
import type { Outcome } from "../plants/plant-store.ts";
import type { Events } from "../telemetry/events.ts";
import type { Log } from "../telemetry/log.ts";
import { Thread } from "../threads/thread.ts";
import { arrivalsFromText, outcomesToText } from "./arrivals-text.ts";
import type { MainCalls, WorkerCalls, WorkerSetting } from "./messages.ts";

export interface WorkerPoolParts {
  /** The main thread's: plants from all workers share one queue, one batch, one fsync. */
  readonly intake: PlantIntake;
  readonly events: Events;
  readonly log: Log;
  readonly setting: Omit<WorkerSetting, "thread">;
  /** Fetches the identity provider's keys, if it is not too early to do so again. */
  readonly refreshKeys: () => Promise<void>;
}

/** A worker that could not start to serve. */
export class WorkerProblem extends Error {
  override readonly name = "WorkerProblem";

  constructor(reason: string) {
    super(
      `A worker could not be started: ${reason.replace(/\.$/, "")}. Use fewer --workers, or raise the limits of processes, files and memory.`,
    );
  }
}

// A worker that dies is replaced, but no faster than this, in case it cannot start at all.
const replaceAfterMs = 1000;

/** The workers: started, kept up to date, drained, and replaced when one dies. */
export class WorkerPool {
  readonly #parts: WorkerPoolParts;
  readonly #workers = new Set<Thread<WorkerCalls>>();
  /** What a worker starts with, up to date. */
  #setting: WorkerPoolParts["setting"];
  /** Undefined while they do not listen. */
  #port: number | undefined;
  #state: "serving" | "unready" | "draining" = "serving";

  constructor(parts: WorkerPoolParts) {
    this.#parts = parts;
    this.#setting = parts.setting;
  }

  /**
   * Settles once all of them could listen.
   * @throws WorkerProblem one of them could not.
   */
  async start(count: number): Promise<void> {
    await Promise.all(Array.from({ length: count }, (_, index) => this.#startWorker(index + 1)));
  }

  /**
   * Lets all of them listen, when the main thread does. If it listened while they are loading, it would get, and keep, the
   * connections of every client that is waiting for the service.
   * @throws WorkerProblem one of them could not.
   */
  async listen(port: number): Promise<void> {
    this.#port = port;
    await Promise.all([...this.#workers].map((worker) => this.#listen(worker, port)));
  }

  update(tokens: readonly Token[]): void {
    this.#setting = { ...this.#setting, tokens };
    for (const worker of this.#workers) worker.tell("update", tokens);
  }

  /** Which tokens were used on any worker since the last call. */
  async takeUses(): Promise<readonly TokenUse[]> {
    // One that dies meanwhile loses the uses of a minute.
    const asked = [...this.#workers].map((worker) => worker.ask("takeUses").catch(() => []));
    return (await Promise.all(asked)).flat();
  }

  updateKeys(keys: readonly JWK[] | undefined): void {
    this.#setting = { ...this.#setting, keys };
    for (const worker of this.#workers) worker.tell("updateKeys", keys);
  }

  /** Before they are drained. From now on one that dies is not replaced: a new one would be ready. */
  goUnready(): void {
    this.#state = "unready";
    for (const worker of this.#workers) worker.tell("goUnready");
  }

  async drain(timeoutMs: number): Promise<void> {
    this.#state = "draining";
    const drained = [...this.#workers].map(async (worker) => {
      // One that dies meanwhile has nothing left to drain.
      await worker.ask("drain", timeoutMs).catch(() => {});
      await worker.stop();
    });
    await Promise.all(drained);
  }

  async #listen(worker: Thread<WorkerCalls>, port: number): Promise<void> {
    try {
      await worker.ask("listen", port);
    } catch (error) {
      this.#workers.delete(worker);
      await worker.stop();
      throw problemOf(error);
    }
  }

  /**
   * Resolves once a new worker serves, or could listen if the others do not yet. Rejects if it dies before; if it dies
   * later, it is replaced.
   */
  async #startWorker(thread: number): Promise<void> {
    let serving = false;
    try {
      const worker: Thread<WorkerCalls> = new Thread("workers/worker-thread", {
        setting: { ...this.#setting, thread },
        calls: this.#calls(),
        onLost: ({ message }) => {
          this.#workers.delete(worker);
          if (serving) this.#replace(message, thread);
        },
        keepsProcessAlive: true,
      });
      this.#workers.add(worker);
      await worker.started;
      if (this.#port !== undefined && this.#state === "serving") await this.#listen(worker, this.#port);
      serving = true;
    } catch (error) {
      throw problemOf(error);
    }
  }

  #replace(reason: string, thread: number): void {
    if (this.#state === "unready") this.#parts.events.workerLostWhileStopping(reason);
    if (this.#state !== "serving") return;
    this.#parts.events.workerLost(reason);
    setTimeout(() => {
      if (this.#state === "serving")
        this.#startWorker(thread).catch((error: Error) => this.#replace(error.message, thread));
    }, replaceAfterMs);
  }

  #calls(): MainCalls {
    const { intake, log, refreshKeys } = this.#parts;
    return {
      create: (text) => this.#create(text),
      ready: () => intake.ready(),
      refreshKeys,
      log: (level, message, fields) => log[level](message, fields),
    };
  }

  #create(text: string): Promise<string> {
    const arrivals = arrivalsFromText(text);
    const outcomes = new Array<Outcome | Rejected>(arrivals.length);
    const stored = Promise.withResolvers<string>();
    let waiting = arrivals.length;
    for (const [index, { plant, createdBy }] of arrivals.entries()) {
      const settle = (outcome: Outcome | Rejected): void => {
        outcomes[index] = outcome;
        waiting--;
        if (waiting === 0) stored.resolve(outcomesToText(outcomes));
      };
      this.#parts.intake.create(plant, createdBy, settle);
    }
    return stored.promise;
  }
}

function problemOf(error: unknown): WorkerProblem {
  if (error instanceof WorkerProblem) return error;
  return new WorkerProblem(error instanceof Error ? error.message : String(error));
}
