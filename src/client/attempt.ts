import type { Endings } from "./endings.ts";

/** As much of `fetch` as the client needs, so that another transport can take its place. */
export type Fetch = (url: string, request: FetchRequest) => Promise<FetchAnswer>;

export interface FetchRequest {
  readonly method: "POST";
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array<ArrayBuffer>;
  readonly signal: AbortSignal;
  readonly redirect: "manual";
}

export interface FetchAnswer {
  readonly status: number;
  readonly headers: { get(name: string): string | null };
  text(): Promise<string>;
}

/** An answer that came whole. */
export interface Answer {
  readonly status: number;
  readonly headers: FetchAnswer["headers"];
  readonly text: string;
}

/** No answer, and why; a retry may help. */
export class NoAnswer {
  readonly reason: string;
  readonly cause: unknown;

  constructor(reason: string, cause: unknown) {
    this.reason = reason;
    this.cause = cause;
  }
}

export interface AttemptOptions {
  readonly fetch: Fetch;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
}

/**
 * Sends one request once, and gives its whole answer within the time, or the reason why there is none.
 * @throws RequestAborted when the caller's signal ended it.
 */
export async function attempt(
  { fetch, url, headers, timeoutMs }: AttemptOptions,
  body: string | Uint8Array<ArrayBuffer>,
  endings: Endings,
): Promise<Answer | NoAnswer> {
  endings.check();
  const ending = endings.take();
  const timer = setTimeout(() => ending.abort(), timeoutMs);
  try {
    // A redirect would turn the POST into a GET, so it is told instead of followed.
    const request = { method: "POST", headers, body, signal: ending.signal, redirect: "manual" } as const;
    const answer = await fetch(url, request);
    return { status: answer.status, headers: answer.headers, text: await answer.text() };
  } catch (error) {
    endings.check();
    const late = ending.signal.aborted;
    return new NoAnswer(late ? `no answer came within ${timeoutMs / 1000} s` : reasonOf(error), error);
  } finally {
    clearTimeout(timer);
    endings.giveBack(ending);
  }
}

// Node says only "fetch failed", and the reason is the cause within.
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.cause instanceof Error) return reasonOf(error.cause);
  const code = "code" in error && typeof error.code === "string" ? error.code : undefined;
  return error.message || code || error.name;
}
