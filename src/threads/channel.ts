/** What crosses between the two sides of a thread. */
export type Message =
  | { readonly kind: "start"; readonly setting: unknown }
  | { readonly kind: "started" | "stop" | "stopped" }
  /** Without a number, nobody waits for the result. */
  | { readonly kind: "call"; readonly number?: number; readonly method: string; readonly values: unknown[] }
  | { readonly kind: "result"; readonly number: number; readonly result: unknown }
  | { readonly kind: "error"; readonly number: number; readonly error: ErrorFields };

interface ErrorFields {
  readonly name: string;
  readonly message: string;
  readonly code: unknown;
}

/** Errors that keep their class, by the `name` of their instances. Any other arrives as an Error with its name and code. */
export type ErrorClasses = Readonly<Record<string, new (message: string) => Error>>;

type Values<Calls, Method extends keyof Calls> = Calls[Method] extends (...values: infer V) => unknown
  ? V
  : never;
type Result<Calls, Method extends keyof Calls> = Calls[Method] extends (...values: never[]) => infer R
  ? Awaited<R>
  : never;

/** One side's end of a thread: calls the other side's functions, and lets it call its own. */
export class Channel<Calls> {
  readonly #post: (message: Message) => void;
  readonly #errors: ErrorClasses;
  readonly #pending = new Map<number, PromiseWithResolvers<unknown>>();
  #own: object = {};
  #lastNumber = 0;
  #closed: Error | undefined;

  constructor(post: (message: Message) => void, errors: ErrorClasses = {}) {
    this.#post = post;
    this.#errors = errors;
  }

  /** Lets the other side call the functions of this object. */
  serve(own: object): void {
    this.#own = own;
  }

  /** Calls a function on the other side, and rejects with its error, or once the channel is closed. */
  async ask<Method extends keyof Calls & string>(
    method: Method,
    ...values: Values<Calls, Method>
  ): Promise<Result<Calls, Method>> {
    if (this.#closed !== undefined) throw this.#closed;
    const number = ++this.#lastNumber;
    const pending = Promise.withResolvers<unknown>();
    this.#post({ kind: "call", number, method, values });
    this.#pending.set(number, pending);
    return pending.promise as Promise<Result<Calls, Method>>;
  }

  /** Calls a function whose result nobody needs. If it throws, that side handles it as it does any uncaught error. */
  tell<Method extends keyof Calls & string>(method: Method, ...values: Values<Calls, Method>): void {
    if (this.#closed === undefined) this.#post({ kind: "call", method, values });
  }

  receive(message: Message): void {
    if (message.kind === "call") return this.#call(message.number, message.method, message.values);
    if (message.kind !== "result" && message.kind !== "error") return;
    const pending = this.#pending.get(message.number);
    this.#pending.delete(message.number);
    if (message.kind === "result") pending?.resolve(message.result);
    else pending?.reject(this.#errorFrom(message.error));
  }

  close(reason: Error): void {
    this.#closed ??= reason;
    for (const { reject } of this.#pending.values()) reject(reason);
    this.#pending.clear();
  }

  #call(number: number | undefined, method: string, values: unknown[]): void {
    const own = this.#own as Record<string, (...values: unknown[]) => unknown>;
    if (number === undefined) own[method]?.(...values);
    else void this.#answer(number, () => own[method]?.(...values));
  }

  async #answer(number: number, work: () => unknown): Promise<void> {
    try {
      this.#post({ kind: "result", number, result: await work() });
    } catch (error) {
      this.#post({ kind: "error", number, error: fieldsOf(error) });
    }
  }

  #errorFrom({ name, message, code }: ErrorFields): Error {
    const Known = this.#errors[name];
    return Known === undefined ? Object.assign(new Error(message), { name, code }) : new Known(message);
  }
}

function fieldsOf(error: unknown): ErrorFields {
  if (!(error instanceof Error)) return { name: "Error", message: String(error), code: undefined };
  return { name: error.name, message: error.message, code: (error as NodeJS.ErrnoException).code };
}
