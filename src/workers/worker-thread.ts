// A worker: the public listener on a thread of its own. It reads, checks and answers; the main thread alone stores.
import { Gate } from "../access/gate.ts";
import { JwtVerifier } from "../access/oidc/jwt-verifier.ts";
import { RateLimit } from "../access/rate-limit.ts";
import type { ServingListener } from "../http/health.ts";
import { startPublicListener } from "../public/public-listener.ts";
import { Counters } from "../telemetry/counters.ts";
import { createEvents } from "../telemetry/events.ts";
import { serveThread } from "../threads/serve-thread.ts";
import { mainThreadLog } from "./main-thread-log.ts";
import type { MainCalls, WorkerCalls, WorkerSetting } from "./messages.ts";
import { RemoteIntake } from "./remote-intake.ts";

serveThread<WorkerSetting, MainCalls>((setting, main) => {
  const counters = new Counters(setting.counterNames, setting.counterMemory, setting.thread);
  const events = createEvents(mainThreadLog(main), counters, Date.now);
  const jwts = setting.jwt && new JwtVerifier(setting.jwt, () => main.ask("refreshKeys"));
  const gate = new Gate(setting.presetTokens, jwts);
  gate.updateKeys(setting.keys);
  if (setting.tokens !== undefined) gate.update(setting.tokens);
  const rateLimit = new RateLimit(setting.rateLimit, setting.rateMemory);
  const intake = new RemoteIntake(main, (error) => events.internalError(() => ({}), error));
  let listener: ServingListener | undefined;
  const calls: WorkerCalls = {
    async listen(port) {
      const options = { ...setting.listener, port };
      // One that is loading when all are told to listen is told twice.
      listener ??= startPublicListener({ gate, rateLimit, intake, events }, options);
    },
    update: (tokens) => gate.update(tokens),
    takeUses: async () => gate.takeUses(),
    updateKeys: (keys) => gate.updateKeys(keys),
    goUnready: () => listener?.goUnready(),
    async drain(timeoutMs) {
      await listener?.drain(timeoutMs);
    },
  };
  return { calls };
});
