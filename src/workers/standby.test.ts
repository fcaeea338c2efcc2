import { expect, test } from "bun:test";
import { platform } from "node:os";
import { eventually } from "../../test/harness.ts";
import type { Listener, ListenerOptions } from "../http/listener.ts";
import { createCounterMemory } from "../telemetry/counters.ts";
import { createLog } from "../telemetry/log.ts";
import { DiskWait } from "./disk-wait.ts";
import { startStandby } from "./standby.ts";

/** Records the threads that are started, and lets the first few fail, as at a process limit. */
function watchThreads(failing: number) {
  const RealWorker = globalThis.Worker;
  const started: Worker[] = [];
  globalThis.Worker = class extends RealWorker {
    constructor(url: string | URL, options?: WorkerOptions) {
      if (failing-- > 0) throw new TypeError("Failed to spawn worker thread");
      super(url, options);
      started.push(this);
    }
  };
  return {
    started,
    [Symbol.dispose]: () => {
      globalThis.Worker = RealWorker;
    },
  };
}

test.skipIf(platform() !== "linux")(
  "a standby that cannot be started, or dies, is started again later",
  async () => {
    using threads = watchThreads(2);
    const diskWait = new DiskWait();
    // What this thread accepts in between, it ends.
    using listening = Bun.listen({
      hostname: "127.0.0.1",
      port: 0,
      socket: { open: (one) => void one.end(), data() {} },
    });
    diskWait.socketSetter("public")((listening as typeof listening & { fd: number }).fd);
    const lost: string[] = [];
    const answeredMs: number[] = [];
    const events = {
      standbyLost: (reason: string) => void lost.push(reason),
      diskWaited: (tookMs: number) => void answeredMs.push(tookMs),
    };
    const counters = {
      counterNames: ["connections:public"],
      counterMemory: createCounterMemory(1),
      thread: 0,
    };
    const log = createLog({ level: "error", format: "json", colour: false, write() {} });
    const listener = { options: optionsFor(listening.port) } as Listener;
    await using standby = startStandby(
      "sqlite",
      { diskWait, listeners: [listener], counters, events, log },
      1,
    );
    const answers = async () => {
      const asked = fetch(`http://127.0.0.1:${listening.port}/livez`).catch(() => undefined);
      // As a disk that hangs: this thread does not accept meanwhile.
      Bun.sleepSync(50);
      return (await asked)?.status === 200;
    };
    diskWait.set(true);
    await eventually(answers);
    expect(lost).toEqual(Array(2).fill("Failed to spawn worker thread"));
    threads.started[0]?.terminate();
    await eventually(() => threads.started.length === 2);
    await eventually(answers);
    expect(lost).toHaveLength(3);
    expect(answeredMs).toEqual([]);
    diskWait.set(false);
    await eventually(() => answeredMs.length === 1);
    // Of the next wait only that one's time is reported.
    const startMs = performance.now();
    diskWait.set(true);
    await eventually(answers);
    diskWait.set(false);
    await eventually(() => answeredMs.length === 2);
    expect(answeredMs[1]).toBeWithin(300, performance.now() - startMs);
    const closed = new Promise((resolve) => threads.started[1]?.addEventListener("close", resolve));
    await standby?.[Symbol.asyncDispose]();
    await closed;
  },
);

function optionsFor(port: number): ListenerOptions {
  return {
    name: "public",
    host: "127.0.0.1",
    port,
    inUseRemedy: "",
    bodyBytesMax: 1000,
    bodyTimeoutMs: 1000,
    logRequests: "none",
    sharePort: false,
    corsOrigins: [],
    tls: undefined,
    connectionsMax: 10,
    basePath: "",
    hint: "",
    trustedProxies: [],
    clientAddressHeader: "x-forwarded-for",
  };
}
