import type { Change } from "../../plants/plant-archive.ts";
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

// The response ends after so many: the service cuts off a longer one that a stalled target leaves unread.
const plantsPerRequest = 2000;
// Three heartbeats of the service.
const silenceMsMax = 30_000;
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
  /** Whether the response arrived to its end. */
  readonly complete: boolean;
  batches(): AsyncGenerator<readonly Change[], void, void>;
}

async function connect(options: ChangeSourceOptions, cursor: string): Promise<OpenResponse> {
  const { url, token, once, retry } = options;
  const silence = new AbortController();
  const signal = AbortSignal.any([retry.stop, silence.signal]);
  let timer = setTimeout(() => silence.abort(), silenceMsMax);
  const heard = (): void => {
    clearTimeout(timer);
    timer = setTimeout(() => silence.abort(), silenceMsMax);
  };
  const query = new URLSearchParams({ after: cursor, limit: String(plantsPerRequest) });
  if (once) query.set("follow", "no");
  const address = `${url.href.replace(/\/+$/, "")}/api/changes?${query}`;
  try {
    const headers = { Authorization: `Bearer ${token}`, Accept: "application/x-ndjson" };
    const response = await reach(url, fetch(address, { headers, signal, redirect: "manual" }));
    if (!response.ok) throw await refusalOf(response, options);
    let complete = false;
    return {
      get complete() {
        return complete;
      },
      async *batches() {
        try {
          for await (const lines of linesOf(response, heard))
            yield lines.map((line) => parseChange(line, url));
          complete = true;
        } catch (error) {
          if (error instanceof FollowProblem) throw error;
        } finally {
          clearTimeout(timer);
          if (!complete) silence.abort();
        }
      },
    };
  } catch (error) {
    clearTimeout(timer);
    throw error;
  }
}

async function reach(url: URL, response: Promise<Response>): Promise<Response> {
  try {
    return await response;
  } catch (error) {
    throw new Unavailable(`${url.href} cannot be reached: ${(error as Error).message}`);
  }
}

async function refusalOf(response: Response, { url, staleRemedy }: ChangeSourceOptions): Promise<Error> {
  const body = (await response.json().catch(() => ({}))) as { message?: unknown };
  const message = typeof body.message === "string" ? body.message : `the response was ${response.status}.`;
  const { status } = response;
  if (status === tooManyRequests || (status > notImplemented - 1 && status !== notImplemented))
    return new Unavailable(`${url.href} is unavailable: ${message}`);
  const remedy = status === gone ? ` ${staleRemedy}` : "";
  return new FollowProblem(`${url.href} refuses to be followed: ${message}${remedy}`);
}

/** The complete lines of each chunk. An incomplete one at the end of a lost connection is dropped. */
async function* linesOf(response: Response, heard: () => void): AsyncGenerator<string[], void, void> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of response.body ?? []) {
    heard();
    const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    yield lines.filter((line) => line !== "");
  }
}

function parseChange(line: string, url: URL): Change {
  try {
    const { cursor, id, name, tag, createdAt, createdBy } = JSON.parse(line) as Record<string, unknown>;
    const createdAtMs = Date.parse(String(createdAt));
    const texts = [cursor, id, name, createdBy].every((value) => typeof value === "string");
    if (texts && (tag === undefined || typeof tag === "string") && !Number.isNaN(createdAtMs))
      return {
        cursor: String(cursor),
        plant: { id: BigInt(String(id)), name: String(name), tag, createdAtMs, createdBy: String(createdBy) },
      };
  } catch {
    // Reported below.
  }
  throw new FollowProblem(`${url.href} sent something that is not a change feed; check --from.`);
}
