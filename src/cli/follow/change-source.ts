import type { Change } from "../../plants/plant-archive.ts";
import { linesOf, NotAFeed, parseChange } from "./change-rows.ts";
import { FollowProblem, type Retry, Unavailable } from "./retry.ts";

export interface ChangeSourceOptions {
  /** The operator listener of the service. */
  readonly url: URL;
  readonly token: string;
  /** Whether to end at the last plant that is stored. */
  readonly once: boolean;
  readonly retry: Retry;
  /** What to do if the source was restored. */
  readonly staleRemedy: string;
}

// The response ends after this many: the service aborts a longer one that a stalled target leaves unread.
const plantsPerRequest = 2000;
const connectMsMax = 10_000;
// Three heartbeats of the service.
const silenceMsMax = 30_000;
const notFound = 404;
const errorCharactersMax = 65_536;
const gone = 410;
const notImplemented = 501;
const tooManyRequests = 429;

/** The changes after the cursor as they arrive, over as many connections as it takes. An empty batch means that none is waiting. */
export async function* changesFrom(
  options: ChangeSourceOptions,
  after: string,
): AsyncGenerator<readonly Change[], void, void> {
  let cursor = after;
  for (;;) {
    const open = await options.retry.run(() => connect(options, cursor));
    let received = 0;
    // A connection that is lost ends here; the next one finds out whether the source is reachable.
    for await (const changes of open.batches()) {
      received += changes.length;
      cursor = changes.at(-1)?.cursor ?? cursor;
      yield changes;
    }
    if (!open.complete && received === 0) await options.retry.pause();
    if (options.once && open.complete && received < plantsPerRequest) return;
  }
}

interface OpenResponse {
  /** Whether the response arrived completely. */
  readonly complete: boolean;
  batches(): AsyncGenerator<readonly Change[], void, void>;
}

async function connect(options: ChangeSourceOptions, cursor: string): Promise<OpenResponse> {
  const { url, token, once, retry } = options;
  const watch = new SilenceWatch(retry.stop);
  const query = new URLSearchParams({ after: cursor, limit: String(plantsPerRequest) });
  if (once) query.set("follow", "no");
  const address = `${url.href.replace(/\/+$/, "")}/api/changes?${query}`;
  const headers = {
    Authorization: `Bearer ${token}`,
    Accept: "application/x-ndjson",
    "Accept-Encoding": "identity",
  };
  let response: Response;
  try {
    response = await reach(url, fetch(address, { headers, signal: watch.signal, redirect: "manual" }));
    // A few kilobytes could become gigabytes before anyone sees a row.
    if (response.headers.has("content-encoding")) throw notAFeed(url, "the response is compressed");
    if (!response.ok) throw await refusalOf(response, options);
  } catch (error) {
    watch.end();
    throw error;
  }
  let complete = false;
  return {
    get complete() {
      return complete;
    },
    async *batches() {
      try {
        for await (const lines of linesOf(heardBy(watch, response))) yield lines.map(parseChange);
        complete = true;
      } catch (error) {
        if (error instanceof NotAFeed) throw notAFeed(url, error.message);
      } finally {
        watch.end();
      }
    },
  };
}

/** Aborts one request when the other side is silent for too long, and when the user stops. */
class SilenceWatch {
  readonly #request = new AbortController();
  readonly #stop: AbortSignal;
  readonly #onStop = () => this.#request.abort();
  #timer: ReturnType<typeof setTimeout>;

  constructor(stop: AbortSignal) {
    this.#stop = stop;
    // Removed at the end: AbortSignal.any would collect a listener for each request.
    stop.addEventListener("abort", this.#onStop);
    if (stop.aborted) this.#onStop();
    const reason = new Error(`no response within ${connectMsMax / 1000} s.`);
    this.#timer = setTimeout(() => this.#request.abort(reason), connectMsMax);
  }

  get signal(): AbortSignal {
    return this.#request.signal;
  }

  heard(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#request.abort(), silenceMsMax);
  }

  /** A response that was left early is aborted. */
  end(): void {
    clearTimeout(this.#timer);
    this.#stop.removeEventListener("abort", this.#onStop);
    this.#request.abort();
  }
}

async function* heardBy(watch: SilenceWatch, response: Response): AsyncGenerator<Uint8Array> {
  for await (const chunk of response.body ?? []) {
    watch.heard();
    yield chunk;
  }
}

function notAFeed({ href }: URL, reason: string): FollowProblem {
  return new FollowProblem(`${href} sent something that is not a change feed (${reason}); check --from.`);
}

async function reach(url: URL, response: Promise<Response>): Promise<Response> {
  try {
    return await response;
  } catch (error) {
    // Bun's question to the user adds nothing.
    const reason = (error as Error).message.replace(" Is the computer able to access the url?", "");
    throw new Unavailable(`${url.href} cannot be reached: ${reason}`);
  }
}

async function refusalOf(response: Response, { url, staleRemedy }: ChangeSourceOptions): Promise<Error> {
  const { status } = response;
  const message = (await messageOf(response)) ?? `the response was ${status}.`;
  if (status === tooManyRequests || (status > notImplemented - 1 && status !== notImplemented))
    return new Unavailable(`${url.href} is unavailable: ${message}`);
  const remedies: Readonly<Record<number, string>> = {
    [gone]: ` ${staleRemedy}`,
    [notFound]: " Check --from: it must be the operator listener (--operator-listen).",
  };
  const remedy = remedies[status] ?? "";
  return new FollowProblem(`${url.href} refuses to be followed: ${message}${remedy}`);
}

/** The message of an Error body; undefined if there is none. */
async function messageOf(response: Response): Promise<string | undefined> {
  const decoder = new TextDecoder();
  let text = "";
  try {
    for await (const chunk of response.body ?? []) {
      text += decoder.decode(chunk, { stream: true });
      if (text.length > errorCharactersMax) return undefined;
    }
    const message: unknown = JSON.parse(text).message;
    return typeof message === "string" ? message : undefined;
  } catch {
    return undefined;
  }
}
