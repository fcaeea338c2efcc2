import type { Token } from "../access/tokens.ts";
import type { PlantIntake, Rejected } from "../plants/intake.ts";
import type { Outcome } from "../plants/plant-store.ts";
import type { Events } from "../telemetry/events.ts";
import type { Log } from "../telemetry/log.ts";
import { arrivalsFromText, outcomesToText } from "./arrivals-text.ts";
import type { FromWorker, ToWorker, WorkerSetting } from "./messages.ts";

export interface CrewParts {
  /** The main thread's own: what all workers bring joins one queue, one batch, one fsync. */
  readonly intake: PlantIntake;
  readonly events: Events;
  readonly log: Log;
  readonly setting: WorkerSetting;
}

/** A worker that could not begin to serve. */
export class WorkerProblem extends Error {
  override readonly name = "WorkerProblem";

  constructor(reason: string) {
    super(
      `A worker could not be started: ${reason.replace(/\.$/, "")}. Use fewer --workers, or raise the limits of processes, files and memory.`,
    );
  }
}

// A worker that dies is replaced, but not faster than this, lest one that cannot start spin.
const replaceAfterMs = 1000;

/** The workers beside the main thread: started, fed, drained, and replaced when one dies. */
export class Crew {
  readonly #parts: CrewParts;
  readonly #workers = new Set<Worker>();
  #tokens: readonly Token[] | undefined;
  #stopping = false;

  constructor(parts: CrewParts) {
    this.#parts = parts;
    this.#tokens = parts.setting.tokens;
  }

  /**
   * Settles once all of them serve.
   * @throws WorkerProblem one of them could not.
   */
  async start(count: number): Promise<void> {
    await Promise.all(Array.from({ length: count }, () => this.#hire()));
  }

  update(tokens: readonly Token[]): void {
    this.#tokens = tokens;
    for (const worker of this.#workers) this.#tell(worker, { kind: "tokens", tokens });
  }

  goUnready(): void {
    for (const worker of this.#workers) this.#tell(worker, { kind: "unready" });
  }

  async drain(timeoutMs: number): Promise<void> {
    this.#stopping = true;
    await Promise.all([...this.#workers].map((worker) => this.#drainOne(worker, timeoutMs)));
  }

  // Settles once the worker serves, and rejects where it dies before; after that, its death is mended here. Async, so that
  // a system that has no thread left to give rejects it, too.
  async #hire(): Promise<void> {
    const worker = startThread();
    this.#workers.add(worker);
    const serving = Promise.withResolvers<void>();
    worker.addEventListener("message", ({ data }: MessageEvent<FromWorker>) => {
      if (data.kind === "serving") serving.resolve();
      else if (data.kind === "log") this.#parts.log[data.level](data.message, data.fields);
      else if (data.kind === "arrivals") this.#take(worker, data.batch, data.arrivals);
      else if (data.kind === "ready?") void this.#tellReadiness(worker, data.question);
    });
    const lost = (reason: string): void => {
      if (!this.#workers.delete(worker) || this.#stopping) return;
      serving.reject(new WorkerProblem(reason));
      serving.promise.then(() => this.#replace(reason)).catch(() => {});
    };
    worker.addEventListener("error", (event) => {
      event.preventDefault();
      lost(event.message);
    });
    worker.addEventListener("close", () => lost("it ended"));
    this.#tell(worker, { kind: "start", setting: { ...this.#parts.setting, tokens: this.#tokens } });
    return serving.promise;
  }

  #replace(reason: string): void {
    this.#parts.events.workerLost(reason);
    setTimeout(() => {
      if (!this.#stopping) this.#hire().catch((error: Error) => this.#replace(error.message));
    }, replaceAfterMs);
  }

  #take(worker: Worker, batch: number, text: string): void {
    const arrivals = arrivalsFromText(text);
    const outcomes = new Array<Outcome | Rejected>(arrivals.length);
    let waiting = arrivals.length;
    for (const [index, { plant, createdBy }] of arrivals.entries()) {
      this.#parts.intake.create(plant, createdBy, (outcome) => {
        outcomes[index] = outcome;
        waiting--;
        if (waiting === 0)
          this.#tell(worker, { kind: "outcomes", batch, outcomes: outcomesToText(outcomes) });
      });
    }
  }

  async #tellReadiness(worker: Worker, question: number): Promise<void> {
    const ready = await this.#parts.intake.ready();
    this.#tell(worker, { kind: "readiness", question, ready });
  }

  async #drainOne(worker: Worker, timeoutMs: number): Promise<void> {
    const drained = Promise.withResolvers<void>();
    worker.addEventListener("message", ({ data }: MessageEvent<FromWorker>) => {
      if (data.kind === "drained") drained.resolve();
    });
    worker.addEventListener("close", () => drained.resolve());
    this.#tell(worker, { kind: "drain", timeoutMs });
    await drained.promise;
    worker.terminate();
  }

  // What was meant for a worker that has died meanwhile is for nobody.
  #tell(worker: Worker, message: ToWorker): void {
    if (this.#workers.has(worker)) worker.postMessage(message);
  }
}

function startThread(): Worker {
  try {
    return new Worker(new URL("./worker-thread.ts", import.meta.url).href);
  } catch (error) {
    throw new WorkerProblem(error instanceof Error ? error.message : String(error));
  }
}
