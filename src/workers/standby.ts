import { platform } from "node:os";
import type { Listener, ListenerOptions } from "../http/listener.ts";
import type { Events } from "../telemetry/events.ts";
import type { Log } from "../telemetry/log.ts";
import { Thread } from "../threads/thread.ts";
import type { DiskWait } from "./disk-wait.ts";
import type { MainCalls, WorkerSetting } from "./messages.ts";

/** Its part of the memory of all counters. */
type CounterPart = Pick<WorkerSetting, "counterNames" | "counterMemory" | "thread">;

/** What the thread starts with. */
export interface StandbySetting extends CounterPart {
  /** Of a DiskWait. */
  readonly memory: SharedArrayBuffer;
  readonly listeners: readonly ListenerOptions[];
}

/** What the thread asks of the main thread. */
export interface StandbyCalls extends Pick<MainCalls, "log"> {
  /** How long it responded in the main thread's place. */
  answered(tookMs: number): void;
}

export interface StandbyParts {
  readonly diskWait: DiskWait;
  readonly listeners: readonly Listener[];
  readonly counters: CounterPart;
  readonly events: Pick<Events, "diskWaited" | "standbyLost">;
  readonly log: Log;
}

// So that a start, or a short-lived service, does not pay for it.
const startAfterMsDefault = 5000;

/**
 * Starts a thread that responds on the same sockets while this one waits for the disk: without it, health checks get no response
 * while an fsync hangs, and a restart would not help. Undefined if no thread waits for a disk, or if the system is
 * not known to share sockets this way.
 */
export function startStandby(
  engine: "sqlite" | "postgres",
  parts: StandbyParts,
  startAfterMs = startAfterMsDefault,
): AsyncDisposable | undefined {
  return engine === "sqlite" && platform() === "linux" ? new Standby(parts, startAfterMs) : undefined;
}

class Standby implements AsyncDisposable {
  readonly #parts: StandbyParts;
  readonly #startAfterMs: number;
  #timer: NodeJS.Timeout;
  #thread: Thread<object> | undefined;

  constructor(parts: StandbyParts, startAfterMs: number) {
    this.#parts = parts;
    this.#startAfterMs = startAfterMs;
    this.#timer = this.#startLater();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearTimeout(this.#timer);
    await this.#thread?.stop();
  }

  #startLater(): NodeJS.Timeout {
    return setTimeout(() => this.#start(), this.#startAfterMs).unref();
  }

  #start(): void {
    const { diskWait, listeners, counters, events, log } = this.#parts;
    const setting: StandbySetting = {
      ...counters,
      memory: diskWait.memory,
      listeners: listeners.map(({ options }) => options),
    };
    const calls: StandbyCalls = {
      answered: events.diskWaited,
      log: (level, message, fields) => log[level](message, fields),
    };
    const onLost = ({ message }: Error): void => {
      events.standbyLost(message);
      this.#timer = this.#startLater();
    };
    try {
      this.#thread = new Thread("workers/standby-thread", {
        setting,
        calls,
        onLost,
        keepsProcessAlive: false,
      });
    } catch (error) {
      // The system cannot start another thread now.
      onLost(error instanceof Error ? error : new Error(String(error)));
    }
  }
}
