/** An answer that is not the one hoped for, with the number and the words that the service gave. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  /** The service's own number; 0 where no answer came at all. */
  readonly error: number;

  constructor(message: string, error: number) {
    super(message);
    this.error = error;
  }
}

const noAnswer = "The service does not answer. Is it running?";

// The two numbers that mean: these credentials are no good (any more).
const badCredentials: readonly number[] = [40101, 40102];

/** The operator API, asked with one token. */
export class OperatorApi {
  readonly token: string;
  readonly #onRefused: () => void;

  /** `onRefused` is called when the token turns out to be no good, so that the person can sign in again. */
  constructor(token: string, onRefused: () => void) {
    this.token = token;
    this.#onRefused = onRefused;
  }

  async get<T>(path: string, signal?: AbortSignal): Promise<T> {
    return (await (await this.fetch(path, signal ? { signal } : {})).json()) as T;
  }

  async post<T>(path: string, body: unknown): Promise<T> {
    const request = {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(body),
    };
    return (await (await this.fetch(path, request)).json()) as T;
  }

  /** @throws ApiError, or the signal's own reason */
  async fetch(path: string, init: RequestInit = {}): Promise<Response> {
    const headers = { ...init.headers, Authorization: `Bearer ${this.token}` };
    let response: Response;
    try {
      response = await fetch(path, { ...init, headers });
    } catch (reason) {
      if (init.signal?.aborted) throw reason;
      throw new ApiError(noAnswer, 0);
    }
    if (response.ok) return response;
    const problem = await readProblem(response);
    if (badCredentials.includes(problem.error)) this.#onRefused();
    throw problem;
  }
}

async function readProblem(response: Response): Promise<ApiError> {
  try {
    const { error, message } = (await response.json()) as { error: number; message: string };
    return new ApiError(message, error);
  } catch {
    return new ApiError(`The service answered ${response.status} without words.`, 0);
  }
}

/** What went wrong, in words for the person at the screen. */
export function wordsOf(reason: unknown): string {
  return reason instanceof Error ? reason.message : String(reason);
}
