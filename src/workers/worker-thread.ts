// A worker: the public listener on a thread of its own. It reads, checks and answers; the main thread alone stores.
import { Gate } from "../access/gate.ts";
import { RateLimit } from "../access/rate-limit.ts";
import { type PublicListener, startPublicListener } from "../public/public-listener.ts";
import { Counters } from "../telemetry/counters.ts";
import { createEvents } from "../telemetry/events.ts";
import { type Log, levels } from "../telemetry/log.ts";
import type { FromWorker, ToWorker, WorkerSetting } from "./messages.ts";
import { RemoteIntake } from "./remote-intake.ts";

declare const self: Worker;

const tell = (message: FromWorker): void => self.postMessage(message);
const intake = new RemoteIntake(tell);
const begun = Promise.withResolvers<{ gate: Gate; listener: PublicListener }>();

self.onmessage = async ({ data }: MessageEvent<ToWorker>) => {
  if (data.kind === "outcomes") return intake.settle(data.batch, data.outcomes);
  if (data.kind === "readiness") return intake.answer(data.question, data.ready);
  if (data.kind === "start") {
    begun.resolve(start(data.setting));
    return tell({ kind: "serving" });
  }
  const { gate, listener } = await begun.promise;
  if (data.kind === "tokens") gate.update(data.tokens);
  else if (data.kind === "unready") listener.goUnready();
  else {
    await listener.drain(data.timeoutMs);
    tell({ kind: "drained" });
  }
};

function start(setting: WorkerSetting): { gate: Gate; listener: PublicListener } {
  const counters = new Counters(setting.counterNames, setting.counterMemory);
  const events = createEvents(mainThreadLog(), counters, Date.now);
  const gate = new Gate(setting.presetTokens);
  if (setting.tokens !== undefined) gate.update(setting.tokens);
  const rateLimit = setting.rateLimit && new RateLimit(setting.rateLimit, setting.rateMemory);
  const listener = startPublicListener({ gate, rateLimit, intake, events }, setting.listener);
  return { gate, listener };
}

function mainThreadLog(): Log {
  const entries = levels.map((level) => {
    const write: Log["info"] = (message, fields = {}) => tell({ kind: "log", level, message, fields });
    return [level, write] as const;
  });
  return Object.fromEntries(entries) as unknown as Log;
}
