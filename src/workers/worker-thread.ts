// A worker: the public listener on a thread of its own. It reads, checks and answers; the main thread alone writes.
import { Gate } from "../access/gate.ts";
import { RateLimit } from "../access/rate-limit.ts";
import { type PublicListener, startPublicListener } from "../http/public-listener.ts";
import { Intake } from "../plants/intake.ts";
import {
  type Arrival,
  type Outcome,
  type PlantStore,
  StoreUnavailable,
  StoreUncertain,
} from "../plants/plant-store.ts";
import { createEvents } from "../telemetry/events.ts";
import { type Level, type Log, levels } from "../telemetry/log.ts";
import { arrivalsToText, outcomesFromText } from "./arrivals-text.ts";
import type { FromWorker, ToWorker, WorkerSetting } from "./messages.ts";

declare const self: Worker;

const tell = (message: FromWorker): void => self.postMessage(message);

/** The store as a worker sees it: batches go to the main thread, and come back once they are durable. */
class MainThreadStore implements PlantStore {
  readonly #waiting = new Map<number, PromiseWithResolvers<string>>();
  #batches = 0;

  async create(batch: readonly Arrival[], createdAtMs: number): Promise<readonly Outcome[]> {
    const text = await this.#ask((number) => ({
      kind: "write",
      batch: number,
      arrivals: arrivalsToText(batch),
      createdAtMs,
    }));
    return outcomesFromText(text, batch.length);
  }

  async probe(): Promise<void> {
    await this.#ask((number) => ({ kind: "probe", batch: number }));
  }

  hear(message: ToWorker): void {
    if (message.kind !== "written" && message.kind !== "not-written") return;
    const asked = this.#waiting.get(message.batch);
    this.#waiting.delete(message.batch);
    if (message.kind === "written") asked?.resolve(message.outcomes);
    else
      asked?.reject(
        message.uncertain ? new StoreUncertain(message.reason) : new StoreUnavailable(message.reason),
      );
  }

  #ask(question: (batch: number) => FromWorker): Promise<string> {
    const batch = this.#batches++;
    const asked = Promise.withResolvers<string>();
    this.#waiting.set(batch, asked);
    tell(question(batch));
    return asked.promise;
  }
}

function start(
  setting: WorkerSetting,
  store: MainThreadStore,
): { gate: Gate; intake: Intake; listener: PublicListener } {
  const log = Object.fromEntries(
    levels.map((level: Level) => [
      level,
      (message: string, fields = {}) => tell({ kind: "log", level, message, fields }),
    ]),
  ) as unknown as Log;
  const events = createEvents(log, Date.now);
  const gate = new Gate(setting.presetTokens);
  gate.update(setting.tokens);
  // The main thread tells of the store's troubles, once for all workers, and ends the service where it must.
  const quiet = (): void => {};
  const intake = new Intake({
    store,
    pendingMax: setting.pendingMax,
    pendingMemory: setting.pendingMemory,
    onUnavailable: quiet,
    onAvailable: quiet,
    onUncertain: quiet,
  });
  const rateLimit = setting.rateLimit && new RateLimit(setting.rateLimit, setting.rateMemory);
  const baseUrl = setting.baseUrl === undefined ? undefined : new URL(setting.baseUrl);
  const listener = startPublicListener(
    { gate, rateLimit, intake, events },
    { ...setting, baseUrl, sharePort: true },
  );
  return { gate, intake, listener };
}

const store = new MainThreadStore();
const begun = Promise.withResolvers<ReturnType<typeof start>>();
self.onmessage = async ({ data }: MessageEvent<ToWorker>) => {
  if (data.kind === "start") {
    begun.resolve(start(data.setting, store));
    tell({ kind: "serving" });
  } else if (data.kind === "written" || data.kind === "not-written") store.hear(data);
  else if (data.kind === "tokens") (await begun.promise).gate.update(data.tokens);
  else if (data.kind === "unready") (await begun.promise).listener.goUnready();
  else {
    const { listener, intake } = await begun.promise;
    await listener.drain(data.timeoutMs);
    await intake.close();
    tell({ kind: "drained" });
  }
};
