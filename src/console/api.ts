import type { JsonFrom, PathOf, SentTo } from "../operator/operator-table.ts";
import { errorNumbers } from "./error-numbers.ts";

// Errors from this one on say that the service was unable to do what was asked.
const serverErrorMin = 50_000;

/** Why a request to the service did not succeed. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  /** The number in the Error body; undefined if the service did not respond, and at most a proxy in front of it did. */
  readonly error: number | undefined;

  constructor(message: string, error?: number) {
    super(message);
    this.error = error;
  }
}

/** The headers of a request whose body is JSON. */
export const jsonHeaders = { "Content-Type": "application/json" };

/** A client of the operator API. */
export class OperatorApi {
  readonly #token: () => string | undefined;
  readonly #onUnauthorized: (token: string | undefined) => void;
  readonly #onOutcome: (responded: boolean) => void;

  /** `onUnauthorized` is called with a token that the service has refused, and `onOutcome` after every request. */
  constructor(
    token: () => string | undefined,
    onUnauthorized: (token: string | undefined) => void = () => {},
    onOutcome: (responded: boolean) => void = () => {},
  ) {
    this.#token = token;
    this.#onUnauthorized = onUnauthorized;
    this.#onOutcome = onOutcome;
  }

  get<Path extends PathOf<"GET">>(
    path: Path,
    values: SentTo<`GET ${Path}`>,
    signal: AbortSignal | null = null,
  ): Promise<JsonFrom<`GET ${Path}`>> {
    return this.#json(urlOf(path, values), { signal });
  }

  post<Path extends PathOf<"POST">>(
    path: Path,
    values: SentTo<`POST ${Path}`>,
    signal: AbortSignal | null = null,
  ): Promise<JsonFrom<`POST ${Path}`>> {
    const { filled, others } = fillIn(path, values);
    return this.#json(filled, { method: "POST", headers: jsonHeaders, body: JSON.stringify(others), signal });
  }

  /** A POST whose body is not JSON. */
  upload<Path extends PathOf<"POST">>(
    path: Path,
    values: SentTo<`POST ${Path}`>,
    body: Blob,
    signal: AbortSignal,
  ): Promise<JsonFrom<`POST ${Path}`>> {
    const headers = { "Content-Type": "application/x-ndjson" };
    return this.#json(urlOf(path, values), { method: "POST", headers, body, signal });
  }

  /** @throws as `fetch` does, and if the response is cut off in its body */
  async #json<Json>(path: string, init: RequestInit): Promise<Json> {
    const response = await this.fetch(path, init);
    try {
      return (await response.json()) as Json;
    } catch (reason) {
      throw this.#failure(reason, init);
    }
  }

  /** @throws ApiError, or the reason of the aborted signal */
  async fetch(path: string, init: RequestInit = {}): Promise<Response> {
    const token = this.#token();
    const headers = { ...init.headers, Authorization: `Bearer ${token}` };
    let response: Response;
    try {
      response = await fetch(path, { ...init, headers });
    } catch (reason) {
      throw this.#failure(reason, init);
    }
    if (response.ok) {
      this.#onOutcome(true);
      return response;
    }
    const error = await readError(response);
    if (isCancelled(init)) throw init.signal?.reason;
    this.#onOutcome(error.error !== undefined);
    if (isRefusal(error, "bad-credentials")) this.#onUnauthorized(token);
    throw error;
  }

  /** Why there is no response, or only a part of one. */
  #failure(reason: unknown, init: RequestInit): unknown {
    if (isCancelled(init)) return reason;
    this.#onOutcome(false);
    return new ApiError("The service does not respond. Is it running?");
  }
}

/** Whatever a path of the API accepts. */
type SentValues = Readonly<Record<string, unknown>>;

/** The path with the values of its parameters, those that it does not name as a query. */
export function urlOf(path: string, values: SentValues): string {
  const { filled, others } = fillIn(path, values);
  return withQuery(filled, others);
}

/** The path with a query of the values that are not empty. */
export function withQuery(path: string, values: SentValues): string {
  const entries = Object.entries(values).filter(([, value]) => value);
  const query = new URLSearchParams(entries as [string, string][]).toString();
  return query === "" ? path : `${path}?${query}`;
}

function fillIn(path: string, values: SentValues) {
  const others = { ...values };
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    delete others[name];
    return encodeURIComponent(String(values[name]));
  });
  return { filled, others };
}

/** Whether nobody waits for the response any more. One that took too long says something of the service. */
function isCancelled({ signal }: RequestInit): boolean {
  return signal?.aborted === true && signal.reason.name !== "TimeoutError";
}

async function readError(response: Response): Promise<ApiError> {
  const body = (await response.json().catch(() => null)) as { error?: unknown; message?: unknown } | null;
  if (typeof body?.error === "number" && typeof body.message === "string")
    return new ApiError(body.message, body.error);
  // Every error of the service has such a body, so this is one of a proxy in front of it.
  return new ApiError(`The service responded with ${response.status} and no message.`);
}

/** Whether the service refused a request with this error. */
export function isRefusal(reason: unknown, name: keyof typeof errorNumbers): boolean {
  return reason instanceof ApiError && reason.error === errorNumbers[name];
}

export function isNoResponse(reason: unknown): boolean {
  return reason instanceof ApiError && reason.error === undefined;
}

/** Whether the same request may succeed later: without a response, and after 408, 429 and 5xx, as in the client library. */
export function isRetryableApiError(reason: unknown): boolean {
  if (!(reason instanceof ApiError)) return false;
  if (reason.error === undefined || reason.error >= serverErrorMin) return true;
  return isRefusal(reason, "body-too-slow") || isRefusal(reason, "over-rate");
}

export function describeError(reason: unknown): string {
  return reason instanceof Error ? reason.message : String(reason);
}
