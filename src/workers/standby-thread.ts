// A standby: responds on the main thread's sockets while that thread waits for the disk.
import { Gate } from "../access/gate.ts";
import { livez, Readiness, readyz } from "../http/health.ts";
import { HttpError } from "../http/http-error.ts";
import { type Listener, type ListenerOptions, startListener } from "../http/listener.ts";
import { Counters } from "../telemetry/counters.ts";
import { createEvents, type Events } from "../telemetry/events.ts";
import { serveThread } from "../threads/serve-thread.ts";
import { DiskWait } from "./disk-wait.ts";
import { mainThreadLog } from "./main-thread-log.ts";
import type { StandbyCalls, StandbySetting } from "./standby.ts";

const lookEveryMs = 100;
// While it responds, so that the main thread soon has its sockets to itself again.
const releaseLookEveryMs = 5;
// Far above what a commit takes on a working disk, and below the second that Kubernetes waits for a probe.
const takeOverAfterMs = 300;
const drainMs = 1000;
const healthRoutes = [livez, readyz];

serveThread<StandbySetting, StandbyCalls>((setting, main) => {
  const diskWait = new DiskWait(setting.memory);
  let wait: number | undefined;
  let sinceMs = 0;
  let listeners: Listener[] = [];
  let timer: NodeJS.Timeout | undefined;
  const counters = new Counters(setting.counterNames, setting.counterMemory, setting.thread);
  const events = createEvents(mainThreadLog(main), counters, Date.now);
  const release = (): void => {
    for (const listener of listeners) void listener.drain(drainMs);
    listeners = [];
  };
  const look = (): void => {
    const nowMs = performance.now();
    // Read once: another wait may begin meanwhile.
    const { current } = diskWait;
    if (wait === undefined || current !== wait) {
      if (listeners.length > 0) main.tell("answered", nowMs - sinceMs);
      release();
      wait = current;
      sinceMs = nowMs;
    } else if (listeners.length === 0 && nowMs - sinceMs >= takeOverAfterMs)
      listeners = setting.listeners.flatMap((options) => listenBeside(options, diskWait, events) ?? []);
    timer = setTimeout(look, listeners.length > 0 ? releaseLookEveryMs : lookEveryMs);
  };
  look();
  const stop = (): void => {
    clearTimeout(timer);
    release();
  };
  return { calls: {}, stop };
});

/** Health checks are answered as usual; everything else is refused, and connections closed, since they are the main thread's. */
function listenBeside(options: ListenerOptions, diskWait: DiskWait, events: Events): Listener | undefined {
  const sharedSocket = diskWait.socket(options.name);
  if (sharedSocket === undefined) return undefined;
  const readiness = new Readiness({ ready: async () => false });
  const paths = healthRoutes.map(({ path }) => options.basePath + path);
  return startListener(
    healthRoutes,
    { readiness },
    { gate: new Gate([]), events },
    { ...options, sharedSocket },
    (exchange) => {
      exchange.closeAfterResponse();
      if (!paths.includes(exchange.path)) throw new HttpError("store-unavailable");
    },
  );
}
