import type { Token } from "../access/tokens.ts";
import { type PlantStore, StoreUncertain } from "../plants/plant-store.ts";
import type { Events } from "../telemetry/events.ts";
import type { Log } from "../telemetry/log.ts";
import { arrivalsFromText, outcomesToText } from "./arrivals-text.ts";
import type { FromWorker, ToWorker, WorkerSetting } from "./messages.ts";

export interface CrewParts {
  readonly store: PlantStore;
  readonly events: Events;
  readonly log: Log;
  readonly setting: WorkerSetting;
  /** Called when it is not known whether a worker's batch was stored. */
  readonly onUncertain: (reason: Error) => void;
}

// A worker that dies is replaced, but not faster than this, lest one that cannot start spin.
const replaceAfterMs = 1000;

/** The workers beside the main thread: started, fed, drained, and replaced when one dies. */
export class Crew {
  readonly #parts: CrewParts;
  readonly #workers = new Set<Worker>();
  #tokens: readonly Token[];
  #stopping = false;

  constructor(parts: CrewParts) {
    this.#parts = parts;
    this.#tokens = parts.setting.tokens;
  }

  /** Settles once all of them serve. */
  async start(count: number): Promise<void> {
    await Promise.all(Array.from({ length: count }, () => this.#hire()));
  }

  update(tokens: readonly Token[]): void {
    this.#tokens = tokens;
    this.#tellAll({ kind: "tokens", tokens });
  }

  goUnready(): void {
    this.#tellAll({ kind: "unready" });
  }

  async drain(timeoutMs: number): Promise<void> {
    this.#stopping = true;
    await Promise.all([...this.#workers].map((worker) => this.#drainOne(worker, timeoutMs)));
  }

  // Settles once the worker serves, and rejects where it dies before; after that, its death is mended here.
  #hire(): Promise<void> {
    const worker = new Worker(new URL("./worker-thread.ts", import.meta.url).href);
    this.#workers.add(worker);
    const serving = Promise.withResolvers<void>();
    worker.onmessage = ({ data }: MessageEvent<FromWorker>) => {
      if (data.kind === "serving") serving.resolve();
      else if (data.kind === "log") this.#parts.log[data.level](data.message, data.fields);
      else if (data.kind === "write" || data.kind === "probe") void this.#write(worker, data);
    };
    const lost = (reason: string): void => {
      if (!this.#workers.delete(worker) || this.#stopping) return;
      serving.reject(new Error(reason));
      serving.promise.then(() => this.#replace(reason)).catch(() => {});
    };
    worker.addEventListener("error", (event) => {
      event.preventDefault();
      lost(event.message);
    });
    worker.addEventListener("close", () => lost("it ended"));
    tell(worker, { kind: "start", setting: { ...this.#parts.setting, tokens: this.#tokens } });
    return serving.promise;
  }

  #replace(reason: string): void {
    this.#parts.events.workerLost(reason);
    setTimeout(() => {
      if (!this.#stopping) this.#hire().catch((error: Error) => this.#replace(error.message));
    }, replaceAfterMs);
  }

  async #write(worker: Worker, asked: Extract<FromWorker, { batch: number }>): Promise<void> {
    const { store, onUncertain } = this.#parts;
    const { batch } = asked;
    try {
      if (asked.kind === "probe") {
        await store.probe();
        return tell(worker, { kind: "written", batch, outcomes: "" });
      }
      const outcomes = await store.create(arrivalsFromText(asked.arrivals), asked.createdAtMs);
      tell(worker, { kind: "written", batch, outcomes: outcomesToText(outcomes) });
    } catch (error) {
      const reason = error instanceof Error ? error : new Error(String(error));
      const uncertain = reason.name !== "StoreUnavailable";
      tell(worker, { kind: "not-written", batch, uncertain, reason: reason.message });
      if (uncertain)
        onUncertain(reason instanceof StoreUncertain ? reason : new StoreUncertain(reason.message));
    }
  }

  async #drainOne(worker: Worker, timeoutMs: number): Promise<void> {
    const drained = Promise.withResolvers<void>();
    worker.addEventListener("message", ({ data }: MessageEvent<FromWorker>) => {
      if (data.kind === "drained") drained.resolve();
    });
    worker.addEventListener("close", () => drained.resolve());
    tell(worker, { kind: "drain", timeoutMs });
    await drained.promise;
    worker.terminate();
  }

  #tellAll(message: ToWorker): void {
    for (const worker of this.#workers) tell(worker, message);
  }
}

function tell(worker: Worker, message: ToWorker): void {
  worker.postMessage(message);
}
