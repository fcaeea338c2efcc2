import { errorNumbers } from "./error-numbers.ts";

/** An error response, or no response. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  /** The number in the Error body; 0 if there is none. */
  readonly error: number;

  constructor(message: string, error: number) {
    super(message);
    this.error = error;
  }
}

const noResponse = "The service does not respond. Is it running?";

const unauthorizedErrors: readonly number[] = [
  errorNumbers["no-credentials"],
  errorNumbers["bad-credentials"],
];

/** A client of the operator API with one token. */
export class OperatorApi {
  readonly token: string;
  readonly #onUnauthorized: () => void;
  readonly #onOutcome: (responded: boolean) => void;

  /** `onUnauthorized` is called when the token is no longer valid, and `onOutcome` after every request. */
  constructor(token: string, onUnauthorized: () => void, onOutcome: (responded: boolean) => void = () => {}) {
    this.token = token;
    this.#onUnauthorized = onUnauthorized;
    this.#onOutcome = onOutcome;
  }

  get<T>(path: string, signal?: AbortSignal): Promise<T> {
    return this.json(path, signal ? { signal } : {});
  }

  post<T>(path: string, body: unknown): Promise<T> {
    const request = {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(body),
    };
    return this.json(path, request);
  }

  /** @throws as `fetch` does, also if the response is cut off in its body */
  async json<T>(path: string, init: RequestInit = {}): Promise<T> {
    const response = await this.fetch(path, init);
    try {
      return (await response.json()) as T;
    } catch (reason) {
      throw this.#failure(reason, init);
    }
  }

  /** @throws ApiError, or the reason of the aborted signal */
  async fetch(path: string, init: RequestInit = {}): Promise<Response> {
    const headers = { ...init.headers, Authorization: `Bearer ${this.token}` };
    let response: Response;
    try {
      response = await fetch(path, { ...init, headers });
    } catch (reason) {
      throw this.#failure(reason, init);
    }
    const error = response.ok ? undefined : await readError(response);
    // An error without a body is not the service's own, but that of a proxy in front of it.
    this.#onOutcome(error?.error !== 0);
    if (error === undefined) return response;
    if (unauthorizedErrors.includes(error.error)) this.#onUnauthorized();
    throw error;
  }

  /** Why there is no response, or only a part of one. */
  #failure(reason: unknown, { signal }: RequestInit): unknown {
    if (signal?.aborted && signal.reason.name !== "TimeoutError") return reason;
    this.#onOutcome(false);
    return new ApiError(noResponse, 0);
  }
}

async function readError(response: Response): Promise<ApiError> {
  try {
    const { error, message } = (await response.json()) as { error: number; message: string };
    return new ApiError(message, error);
  } catch {
    return new ApiError(`The service responded with ${response.status} and no message.`, 0);
  }
}

/** Whether the service did not respond at all. */
export function isNoResponse(reason: unknown): boolean {
  return reason instanceof ApiError && reason.message === noResponse;
}

export function errorMessage(reason: unknown): string {
  return reason instanceof Error ? reason.message : String(reason);
}
