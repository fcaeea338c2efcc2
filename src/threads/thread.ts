import { Channel, type ErrorClasses, type Message } from "./channel.ts";

/** Every file that runs as a thread, by its path below src/. */
export const threadEntries = [
  "storage/sqlite/maintenance/copy-and-check-thread",
  "storage/sqlite/reading/archive-thread",
  "storage/sqlite/writing/checkpoint-thread",
] as const;
export type ThreadEntry = (typeof threadEntries)[number];

export interface ThreadOptions {
  /** What the thread starts with. */
  readonly setting?: unknown;
  /** The functions that the thread may call here. */
  readonly calls?: object;
  readonly errors?: ErrorClasses;
  /** Called once if the thread ends without being stopped. */
  readonly onLost?: (reason: ThreadLost) => void;
  /** Whether the process stays alive as long as the thread runs. */
  readonly keepsProcessAlive: boolean;
}

/** The thread ended before it answered. */
export class ThreadLost extends Error {
  override readonly name = "ThreadLost";
}

// Work that takes longer is aborted: nobody waits for its result any longer.
const stopMsMax = 2000;

/** A thread and the functions that it serves with `serveThread`. */
export class Thread<Calls> {
  /** Resolves once the thread serves; rejects with ThreadLost if it never does. */
  readonly started: Promise<void>;
  readonly ask: Channel<Calls>["ask"];
  readonly tell: Channel<Calls>["tell"];
  readonly #worker: Worker;
  readonly #channel: Channel<Calls>;
  readonly #onLost: ThreadOptions["onLost"];
  readonly #started = Promise.withResolvers<void>();
  readonly #ended = Promise.withResolvers<void>();
  #state: "running" | "stopping" | "ended" = "running";

  /** @throws Error the system cannot start another thread. */
  constructor(entry: ThreadEntry, { setting, calls, errors, onLost, keepsProcessAlive }: ThreadOptions) {
    this.#worker = new Worker(entryUrl(entry), { ref: keepsProcessAlive });
    const post = (message: Message): void => this.#worker.postMessage(message);
    this.#channel = new Channel<Calls>(post, errors);
    if (calls !== undefined) this.#channel.serve(calls);
    this.ask = this.#channel.ask.bind(this.#channel);
    this.tell = this.#channel.tell.bind(this.#channel);
    this.#onLost = onLost;
    this.started = this.#started.promise;
    // Whoever does not await it learns of a loss from `onLost` or from a rejected call.
    this.started.catch(() => {});
    this.#worker.onmessage = ({ data }: MessageEvent<Message>) => {
      if (data.kind === "started") this.#started.resolve();
      else if (data.kind === "stopped") this.#end("the thread was stopped");
      else this.#channel.receive(data);
    };
    this.#worker.addEventListener("error", (event) => {
      event.preventDefault();
      this.#end(event.message);
    });
    this.#worker.addEventListener("close", () => this.#end("the thread ended"));
    post({ kind: "start", setting });
  }

  /** Ends the thread once it has released what it holds, or after two seconds. Pending calls are rejected. */
  async stop(): Promise<void> {
    if (this.#state === "running") {
      this.#state = "stopping";
      this.#worker.postMessage({ kind: "stop" } satisfies Message);
    }
    const late = setTimeout(() => this.#end("the thread was stopped"), stopMsMax);
    await this.#ended.promise;
    clearTimeout(late);
    this.#worker.terminate();
  }

  #end(message: string): void {
    if (this.#state === "ended") return;
    const isLost = this.#state === "running";
    this.#state = "ended";
    const reason = new ThreadLost(message);
    this.#channel.close(reason);
    this.#started.reject(reason);
    this.#ended.resolve();
    if (isLost) this.#onLost?.(reason);
  }
}

// Defined by scripts/build.ts, when everything is in one executable.
declare const BUILT_INTO_ONE_FILE: true | undefined;

// The one place that finds a thread's file: in a single executable, entry points have the names that the build gave them.
function entryUrl(entry: ThreadEntry): string {
  if (typeof BUILT_INTO_ONE_FILE !== "undefined") return `./${entry}.js`;
  return new URL(`../${entry}.ts`, import.meta.url).href;
}
