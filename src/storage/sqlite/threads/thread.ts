// A thread and the functions that it serves. Each call is a message to it, and its result or error is a message back.
import { codeOf, messageOf } from "../../../system/errors.ts";

/** Every file that runs as a thread, by its path below src/. */
export const threadEntries = [
  "storage/sqlite/copying/copy-thread",
  "storage/sqlite/reading/reader-thread",
  "storage/sqlite/writing/checkpoint-thread",
] as const;
export type ThreadEntry = (typeof threadEntries)[number];

/** A message to a thread. */
export type ToThread =
  | { readonly kind: "start"; readonly startData: unknown }
  | { readonly kind: "call"; readonly number: number; readonly method: string; readonly args: unknown[] }
  | { readonly kind: "stop" };

/** What a thread answers. */
export type FromThread =
  | { readonly kind: "result"; readonly number: number; readonly result: unknown }
  | { readonly kind: "error"; readonly number: number; readonly error: ErrorFields }
  | { readonly kind: "stopped" };

interface ErrorFields {
  readonly name: string;
  readonly message: string;
  readonly code: string;
}

export interface ThreadOptions {
  /** What the thread starts with. */
  readonly startData?: unknown;
  /** Errors that keep their class, by the `name` of their instances. Any other arrives as an Error with its name and code. */
  readonly errors?: Readonly<Record<string, new (message: string) => Error>>;
  /** Called once if the thread ends without being stopped. */
  readonly onLost?: (reason: Error) => void;
  /** Whether the process stays alive as long as the thread runs. */
  readonly keepsProcessAlive: boolean;
}

/** What a method is called with. */
type Arguments<Calls, Method extends keyof Calls> = Calls[Method] extends (...args: infer A) => unknown
  ? A
  : never;
/** What a call of it resolves to. */
type Result<Calls, Method extends keyof Calls> = Calls[Method] extends (...args: never[]) => infer R
  ? Awaited<R>
  : never;

// Work that takes longer is aborted: nobody waits for its result any longer.
const stopMsMax = 2000;

/** A thread and the functions that it serves with `serveThread`. */
export class Thread<Calls> {
  readonly #worker: Worker;
  readonly #errors: NonNullable<ThreadOptions["errors"]>;
  readonly #onLost: ThreadOptions["onLost"];
  readonly #pending = new Map<number, PromiseWithResolvers<unknown>>();
  readonly #ended = Promise.withResolvers<void>();
  #lastNumber = 0;
  #isStopping = false;
  /** Why it ended; undefined while it runs. */
  #end: Error | undefined;

  /** @throws Error the system cannot start another thread. */
  constructor(entry: ThreadEntry, { startData, errors = {}, onLost, keepsProcessAlive }: ThreadOptions) {
    this.#worker = new Worker(entryUrl(entry), { ref: keepsProcessAlive });
    this.#errors = errors;
    this.#onLost = onLost;
    this.#worker.onmessage = ({ data }: MessageEvent<FromThread>) => this.#receive(data);
    this.#worker.addEventListener("error", (event) => {
      event.preventDefault();
      this.#handleEnd(event.message);
    });
    this.#worker.addEventListener("close", () => this.#handleEnd("the thread ended"));
    this.#post({ kind: "start", startData });
  }

  /** Calls a function of the thread. Rejects with its error, or with an Error if the thread ends before. */
  async ask<Method extends keyof Calls & string>(
    method: Method,
    ...args: Arguments<Calls, Method>
  ): Promise<Result<Calls, Method>> {
    if (this.#end !== undefined) throw this.#end;
    this.#lastNumber++;
    const number = this.#lastNumber;
    const pending = Promise.withResolvers<unknown>();
    this.#post({ kind: "call", number, method, args });
    this.#pending.set(number, pending);
    return pending.promise as Promise<Result<Calls, Method>>;
  }

  /** Stops the thread once it has closed what it holds, or after two seconds. Pending calls are rejected. */
  async stop(): Promise<void> {
    if (!this.#isStopping && this.#end === undefined) this.#post({ kind: "stop" });
    this.#isStopping = true;
    const late = setTimeout(() => this.#handleEnd("the thread was stopped"), stopMsMax);
    await this.#ended.promise;
    clearTimeout(late);
    this.#worker.terminate();
  }

  #post(message: ToThread): void {
    this.#worker.postMessage(message);
  }

  #receive(message: FromThread): void {
    if (message.kind === "stopped") return this.#handleEnd("the thread was stopped");
    const pending = this.#pending.get(message.number);
    this.#pending.delete(message.number);
    if (message.kind === "result") pending?.resolve(message.result);
    else pending?.reject(this.#errorFrom(message.error));
  }

  #errorFrom({ name, message, code }: ErrorFields): Error {
    const Known = this.#errors[name];
    return Known === undefined ? Object.assign(new Error(message), { name, code }) : new Known(message);
  }

  #handleEnd(why: string): void {
    if (this.#end !== undefined) return;
    this.#end = new Error(why);
    for (const { reject } of this.#pending.values()) reject(this.#end);
    this.#pending.clear();
    this.#ended.resolve();
    if (!this.#isStopping) this.#onLost?.(this.#end);
  }
}

export interface ThreadService {
  /** The functions that the starter may call. */
  readonly calls: object;
  /** Closes what the thread holds, before it is stopped. */
  readonly close?: () => void;
}

/** The thread's own side: `start` gets the start data. If it throws, the thread is lost. */
export function serveThread<StartData>(start: (startData: StartData) => ThreadService): void {
  let service: ThreadService | undefined;
  self.onmessage = ({ data }: MessageEvent<ToThread>) => {
    if (data.kind === "start") service = start(data.startData as StartData);
    else if (data.kind === "call") void answer(service?.calls as Functions, data);
    else {
      service?.close?.();
      reply({ kind: "stopped" });
    }
  };
}

declare const self: Worker;

type Functions = Readonly<Record<string, (...args: unknown[]) => unknown>>;

async function answer(
  calls: Functions,
  { number, method, args }: ToThread & { readonly kind: "call" },
): Promise<void> {
  try {
    reply({ kind: "result", number, result: await calls[method]?.(...args) });
  } catch (error) {
    reply({ kind: "error", number, error: fieldsOf(error) });
  }
}

function reply(message: FromThread): void {
  self.postMessage(message);
}

function fieldsOf(error: unknown): ErrorFields {
  const name = error instanceof Error ? error.name : "Error";
  return { name, message: messageOf(error), code: codeOf(error) };
}

// Defined by scripts/build.ts, when everything is in one executable.
declare const BUILT_INTO_ONE_FILE: true | undefined;

/** The one place that finds a thread's file: in a single executable, entry points have the names that the build gave them. */
function entryUrl(entry: ThreadEntry): string {
  if (typeof BUILT_INTO_ONE_FILE !== "undefined") return `./${entry}.js`;
  return new URL(`../../../${entry}.ts`, import.meta.url).href;
}
