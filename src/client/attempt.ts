import type { AbortControllers } from "./abort-controllers.ts";

/** The part of `fetch` that the client uses, so that another transport can replace it. */
export type Fetch = (url: string, request: FetchRequest) => Promise<FetchResponse>;

export interface FetchRequest {
  readonly method: "POST";
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array<ArrayBuffer>;
  readonly signal: AbortSignal;
  readonly redirect: "manual";
}

export interface FetchResponse {
  readonly status: number;
  readonly headers: { get(name: string): string | null };
  text(): Promise<string>;
}

/** A response with its complete body. */
export interface CompleteResponse extends Pick<FetchResponse, "status" | "headers"> {
  readonly text: string;
}

/** An attempt without a response; a retry may succeed. */
export interface FailedAttempt {
  readonly status: undefined;
  readonly reason: string;
  readonly cause: unknown;
}

export interface AttemptOptions {
  readonly fetch: Fetch;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
}

/**
 * Sends one request once and reads its complete response within the timeout.
 * @throws RequestAborted if the caller's signal is aborted.
 */
export async function attempt(
  { fetch, url, headers, timeoutMs }: AttemptOptions,
  body: string | Uint8Array<ArrayBuffer>,
  controllers: AbortControllers,
): Promise<CompleteResponse | FailedAttempt> {
  controllers.throwIfAborted();
  const controller = controllers.acquire();
  const { signal } = controller;
  const timer = setTimeout(() => controller.abort(), timeoutMs);
  try {
    // A redirect would turn the POST into a GET, so it is reported instead of followed.
    const response = await fetch(url, { method: "POST", headers, body, signal, redirect: "manual" });
    return { status: response.status, headers: response.headers, text: await response.text() };
  } catch (cause) {
    controllers.throwIfAborted();
    const reason = signal.aborted ? `no response within ${timeoutMs / 1000} s` : rootMessage(cause);
    return { status: undefined, reason, cause };
  } finally {
    clearTimeout(timer);
    controllers.release(controller);
  }
}

// Node's own message is only "fetch failed"; its cause has the reason.
function rootMessage(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.cause instanceof Error) return rootMessage(error.cause);
  const code = "code" in error && typeof error.code === "string" ? error.code : undefined;
  return error.message || code || error.name;
}
