import { isRetryableStatus, RequestAborted, ServiceRefused, ServiceUnreachable } from "./errors.ts";
import { inOrder } from "./in-order.ts";

// biome-ignore lint/performance/noBarrelFile: a library has one entry, and its callers need the error classes.
export { RequestAborted, ServiceRefused, ServiceUnreachable } from "./errors.ts";

/** An int64. A number must be a safe integer, since a larger one may already be rounded. */
export type PlantId = bigint | number | string;

export interface NewPlant {
  readonly id: PlantId;
  readonly name: string;
  readonly tag?: string | undefined;
}

/** A plant as JSON, which is sent unchanged. */
export interface PlantJson {
  readonly json: string | Uint8Array<ArrayBuffer>;
}

export interface CreatedPlant {
  readonly name: string;
  readonly tag?: string;
  /** The same plant was already stored. */
  readonly replayed: boolean;
}

export interface ClientOptions extends Partial<typeof defaults> {
  /** Where the service is, such as `https://example.org/garden/v1`. */
  readonly baseUrl: string | URL;
  readonly token: string;
  /** Replaces the platform's `fetch`. */
  readonly fetch?: Fetch;
}

/** The part of `fetch` that the client uses, so that another transport can replace it. */
export type Fetch = (url: string, request: RequestInit) => Promise<FetchedResponse>;

/** A response without a `body` is read whole, however long it is. */
export type FetchedResponse = Pick<Response, "status" | "text"> &
  Partial<Pick<Response, "body">> & { readonly headers: Pick<Headers, "get"> };

export interface CallOptions {
  /** Aborts the requests in flight. Their plants may be stored; sending them again is safe. */
  readonly signal?: AbortSignal | undefined;
}

export interface CreatePlantsOptions extends CallOptions {
  /** How many requests may be in flight; 16 by default. */
  readonly concurrency?: number;
}

/** The result for one plant, with the item as it was passed in and its index in the source. */
export type PlantOutcome<Item> = { readonly item: Item; readonly index: number } & (
  | { readonly kind: "created" | "replayed" }
  /** A TypeError means that the item was not sent, because its id is not exact. */
  | { readonly kind: "refused"; readonly error: ServiceRefused | TypeError }
);

export interface FollowOptions extends CallOptions {
  /** Where to begin: the `next` of a page, the `cursor` of a plant, `now`, or `0`, the first plant, by default. */
  readonly after?: string;
  /** Only plants that match all of these. */
  readonly filter?: FollowFilter;
  /** How long to wait after a page that has no more after it; a second by default. */
  readonly everyMs?: number | undefined;
}

export interface FollowFilter {
  readonly id?: string | undefined;
  readonly tag?: string | undefined;
  /** Any part of the name. */
  readonly name?: string | undefined;
  /** The name of the token that sent the plant. */
  readonly token?: string | undefined;
  readonly since?: string | undefined;
  readonly until?: string | undefined;
}

/** A page of `followPlants`. It may be empty. */
export interface FollowedPage {
  readonly plants: readonly FollowedPlant[];
  /** The cursor to go on with. */
  readonly next: string;
  /** Whether there is more to read now. */
  readonly more: boolean;
  /** When the store was read, by the clock that plants have their times from. */
  readonly now: string;
  /** Every plant that was stored before this time is on this page or an earlier one, unless there is more. */
  readonly completeTo?: string;
  /** Since when a transaction on the PostgreSQL server keeps newer plants waiting. */
  readonly waitingSince?: string;
}

export interface FollowedPlant {
  /** In decimal, as it may be beyond 2^53. */
  readonly id: string;
  readonly name: string;
  readonly tag?: string;
  readonly createdAt: string;
  readonly createdBy: string;
  /** What follows this plant comes after this cursor. */
  readonly cursor: string;
}

/** A complete response; without a status there was none, and a retry may succeed. */
type Result =
  | { readonly status: number; readonly headers: Pick<Headers, "get">; readonly text: string }
  | { readonly status: undefined; readonly reason: string; readonly cause: unknown };
type CompleteResponse = Extract<Result, { readonly status: number }>;

const defaults: {
  /** The time limit for one attempt. */
  readonly timeoutMs: number;
  /** How many attempts may fail before the failure is final. */
  readonly attemptsMax: number;
  /** The first delay before a retry; each later one is twice as long. */
  readonly backoffMs: number;
  readonly backoffMsMax: number;
  /** How long a rate limit may delay a plant. A 429 does not count as a failed attempt. */
  readonly patienceMs: number;
} = { timeoutMs: 30_000, attemptsMax: 6, backoffMs: 200, backoffMsMax: 10_000, patienceMs: 120_000 };
const concurrencyDefault = 16;
// A byte that was sent may come back as an escape, such as \u007f.
const escapeBytes = 6;
// The response to a create repeats what was sent.
const createdBytesMax = 1024 * 1024;
// The most that a page can have: it ends with the first plant past its bound, and the largest body of a server has 64 MiB.
const pagePlants = "1000";
const pageBytesMax = (64 + 32) * 1024 * 1024;
const everyMsDefault = 1000;
const atLeastOne: readonly string[] = ["timeoutMs", "attemptsMax"];
// A timer with a longer delay would fire immediately.
const optionMax = 2 ** 31 - 1;
const tokenShape = /^[\x21-\x7e]+$/;
const decimal = /^-?\d+$/;
const tooManyRequests = 429;
// A longer Retry-After ends the retries, and the caller gets the response.
const retryAfterMsMax = 60_000;

/** Creates plants in a plant store. It retries on its own, because sending the same plant again is always safe. */
export class PlantStoreClient {
  readonly #baseUrl: string;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #fetch: Fetch;
  readonly #limits: typeof defaults;

  constructor(options: ClientOptions) {
    this.#baseUrl = plainUrl(options.baseUrl);
    this.#headers = { Authorization: `Bearer ${validToken(options.token)}` };
    this.#fetch = options.fetch ?? ((url, request) => fetch(url, request));
    this.#limits = limitsOf(options);
  }

  /**
   * Stores the plant and returns whether it was already stored.
   * @throws ServiceRefused, ServiceUnreachable, RequestAborted; TypeError for an id that is not exact.
   */
  async createPlant({ id, name, tag }: NewPlant, options: CallOptions = {}): Promise<CreatedPlant> {
    const rest = JSON.stringify({ name, tag }).slice(1, -1);
    // A caller without types may omit the name, and the service reports that.
    return this.createPlantFromJson(`{"id":${exactId(id)}${rest === "" ? "" : `,${rest}`}}`, options);
  }

  /** Stores a plant from its JSON, which is sent unchanged. */
  async createPlantFromJson(body: PlantJson["json"], { signal }: CallOptions = {}): Promise<CreatedPlant> {
    const headers = { ...this.#headers, "Content-Type": "application/json" };
    const url = this.#urlOf("/plants");
    const request = { method: "POST", headers, body };
    const bytesMax = createdBytesMax + body.length * escapeBytes;
    const response = await this.#request(url, request, bytesMax, signal);
    return createdPlant(url, response);
  }

  /**
   * Reads what the store has, and what is stored from then on: each plant once, page by page. The base URL is that of the operator
   * listener. It ends when its caller stops asking or the signal aborts it.
   * @throws ServiceRefused, ServiceUnreachable, RequestAborted
   */
  async *followPlants(options: FollowOptions = {}): AsyncGenerator<FollowedPage, never, void> {
    const { after = "0", filter = {}, everyMs = everyMsDefault, signal } = options;
    const chosen = Object.entries(filter).filter(([, value]) => value !== undefined);
    let cursor = after;
    for (;;) {
      const query = new URLSearchParams([...chosen, ["limit", pagePlants], ["after", cursor]]);
      const url = this.#urlOf("/api/plants");
      const response = await this.#request(
        `${url}?${query}`,
        { method: "GET", headers: this.#headers },
        pageBytesMax,
        signal,
      );
      const page = followedPage(url, response);
      yield page;
      cursor = page.next;
      if (!page.more) await sleep(everyMs, signal);
    }
  }

  /**
   * Stores many plants concurrently and yields the outcome of each, in their order. It reads the source only as fast as it
   * sends. A refused plant does not stop the others.
   * @throws ServiceRefused if every plant would be refused (such as for a wrong token), ServiceUnreachable, RequestAborted;
   * the requests in flight are then aborted. An error of the source is thrown after the outcomes of the plants before it.
   */
  async *createPlants<Item extends NewPlant | PlantJson>(
    plants: Iterable<Item> | AsyncIterable<Item>,
    { concurrency = concurrencyDefault, signal }: CreatePlantsOptions = {},
  ): AsyncGenerator<PlantOutcome<Item>, void, void> {
    if (!Number.isInteger(concurrency) || concurrency < 1)
      throw new TypeError("concurrency must be an integer of at least 1.");
    const create = (item: Item, index: number, own: AbortSignal) => this.#outcomeOf(item, index, own);
    yield* inOrder(plants, create, { concurrency, signal });
  }

  async #outcomeOf<Item extends NewPlant | PlantJson>(
    item: Item,
    index: number,
    signal: AbortSignal,
  ): Promise<PlantOutcome<Item>> {
    try {
      const { replayed } = await ("json" in item
        ? this.createPlantFromJson(item.json, { signal })
        : this.createPlant(item, { signal }));
      return { item, index, kind: replayed ? "replayed" : "created" };
    } catch (error) {
      const concernsPlant =
        error instanceof ServiceRefused ? error.concernsPlant : error instanceof TypeError;
      if (concernsPlant) return { item, index, kind: "refused", error: error as ServiceRefused };
      throw error;
    }
  }

  #urlOf(path: string): string {
    return this.#baseUrl + path;
  }

  /**
   * The response with the status 200, after as many attempts as it takes.
   * @throws ServiceRefused, ServiceUnreachable, RequestAborted
   */
  async #request(
    url: string,
    request: RequestInit,
    bytesMax: number,
    caller: AbortSignal | undefined,
  ): Promise<CompleteResponse> {
    const { attemptsMax, backoffMs, backoffMsMax, patienceMs } = this.#limits;
    const patientUntilMs = performance.now() + patienceMs;
    let failures = 0;
    let backoff = Math.min(backoffMs, backoffMsMax);
    for (let attempts = 1; ; attempts++) {
      const result = await this.#attempt(url, request, bytesMax, caller);
      const { status } = result;
      if (status === 200) return result;

      const isRateLimited = status === tooManyRequests;
      if (!isRateLimited) failures++;
      const retryAfterMs = status === undefined ? 0 : parseRetryAfterMs(result.headers.get("retry-after"));
      // Jitter of up to half, so that clients that failed together do not retry together: the rule of retry/backoff.ts.
      const delayMs = retryAfterMs + (backoff * (1 + Math.random())) / 2;
      backoff = Math.min(backoff * 2, backoffMsMax);

      const isUsedUp = isRateLimited ? performance.now() + delayMs > patientUntilMs : failures >= attemptsMax;
      if (!isRetryableStatus(status) || retryAfterMs > retryAfterMsMax || isUsedUp)
        throw failureOf(url, result, attempts);
      await sleep(delayMs, caller);
    }
  }

  /** Sends the request once. @throws RequestAborted the caller's signal is aborted. */
  async #attempt(
    url: string,
    request: RequestInit,
    bytesMax: number,
    caller: AbortSignal | undefined,
  ): Promise<Result> {
    const { timeoutMs } = this.#limits;
    const { signal, clear } = startDeadline(timeoutMs, caller);
    try {
      // A redirect would turn a POST into a GET, so it is reported instead of followed.
      const response = await this.#fetch(url, { ...request, signal, redirect: "manual" });
      return { status: response.status, headers: response.headers, text: await readText(response, bytesMax) };
    } catch (cause) {
      throwIfAborted(caller);
      const reason = signal.aborted ? `no response within ${timeoutMs / 1000} s` : rootMessage(cause);
      return { status: undefined, reason, cause };
    } finally {
      clear();
    }
  }
}

/** The text of a response. Of one that is longer than any of a plant store, nothing more is read, and it counts as empty. */
async function readText(response: FetchedResponse, bytesMax: number): Promise<string> {
  const { headers, body } = response;
  const isEncoded = headers.get("content-encoding") !== null;
  const saysLength = !isEncoded && Number(headers.get("content-length") ?? Number.NaN) <= bytesMax;
  // Read whole, a response takes the client a quarter less time.
  if (saysLength || !body) return response.text();
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    bytes += value.length;
    if (bytes > bytesMax) {
      reader.cancel().catch(() => {});
      return "";
    }
    text += decoder.decode(value, { stream: true });
  }
}

function createdPlant(url: string, { headers, text }: CompleteResponse): CreatedPlant {
  const { name, tag } = membersOfJson(text);
  if (typeof name !== "string" || (tag !== undefined && typeof tag !== "string"))
    throw new ServiceUnreachable(`${url} responded with something that is not a plant; check the base URL.`);
  const replayed = headers.get("idempotent-replayed") === "true";
  return tag === undefined ? { name, replayed } : { name, tag, replayed };
}

function followedPage(url: string, { text }: CompleteResponse): FollowedPage {
  const page = membersOfJson(text);
  if (!Array.isArray(page["plants"]) || typeof page["next"] !== "string")
    throw new ServiceUnreachable(
      `${url} responded with something that is not a page of plants; check that the base URL is the operator listener's.`,
    );
  return page as unknown as FollowedPage;
}

/** The error of an attempt that is not repeated. */
function failureOf(url: string, result: Result, attempts: number): ServiceRefused | ServiceUnreachable {
  if (result.status !== undefined) return refusal(result);
  const tries = attempts === 1 ? "1 attempt" : `${attempts} attempts`;
  // Some messages of Bun end with a question.
  const end = /[.?!]$/.test(result.reason) ? "" : ".";
  const [address] = url.split("?");
  const message = `${address} could not be reached in ${tries}: ${result.reason}${end}`;
  return new ServiceUnreachable(message, { cause: result.cause });
}

/** The base URL without a slash at its end. */
function plainUrl(baseUrl: string | URL): string {
  const text = String(baseUrl);
  const url = URL.canParse(text) ? new URL(text) : undefined;
  // The URL is not quoted, since it may contain a password.
  if (url === undefined || !isPlainHttp(url))
    throw new TypeError(
      "The base URL must be an http or https URL without credentials, query or fragment, such as https://example.org/garden/v1.",
    );
  return `${url.origin}${url.pathname.replace(/\/+$/, "")}`;
}

/** Whether the URL is of http or https, and has only an origin and a path. */
function isPlainHttp({ protocol, username, password, search, hash }: URL): boolean {
  const isHttp = protocol === "http:" || protocol === "https:";
  return isHttp && username === "" && password === "" && search === "" && hash === "";
}

/** Callers without types are checked too: a variable that is not set would be sent as the token "undefined". */
function validToken(token: unknown): string {
  // A line break in a token would add a header.
  if (typeof token !== "string" || !tokenShape.test(token))
    throw new TypeError("The token must be a string of printable ASCII without spaces.");
  return token;
}

function limitsOf(options: Partial<typeof defaults>): typeof defaults {
  const limits = { ...defaults };
  for (const name of Object.keys(defaults) as (keyof typeof defaults)[]) {
    const min = atLeastOne.includes(name) ? 1 : 0;
    const value = options[name] ?? defaults[name];
    // Any other value, such as NaN, could retry forever.
    if (!(typeof value === "number" && value >= min && value <= optionMax))
      throw new TypeError(`${name} must be a number from ${min} to ${optionMax}.`);
    limits[name] = value;
  }
  return limits;
}

/** The id digit by digit: it never becomes a double. A number that is not safe may already have been rounded. */
function exactId(id: PlantId): string {
  const isExact =
    typeof id === "string" ? decimal.test(id) : typeof id === "bigint" || Number.isSafeInteger(id);
  if (isExact) return BigInt(id).toString();
  const shown = typeof id === "string" ? JSON.stringify(id) : String(id);
  throw new TypeError(`The id must be a bigint, a safe integer or a decimal string, not ${shown}.`);
}

/** The delay that `Retry-After` asks for; zero if it is not in seconds, as the service's always is. */
function parseRetryAfterMs(value: string | null): number {
  return /^\d+$/.test(value ?? "") ? Number(value) * 1000 : 0;
}

/** @throws RequestAborted as soon as the signal is aborted. */
async function sleep(ms: number, caller: AbortSignal | undefined): Promise<void> {
  const { signal, clear } = startDeadline(ms, caller);
  await new Promise((resolve) => signal.addEventListener("abort", resolve));
  clear();
  throwIfAborted(caller);
}

/** A signal that is aborted after that long, or with the caller's. @throws RequestAborted the caller's already is. */
function startDeadline(ms: number, caller: AbortSignal | undefined) {
  throwIfAborted(caller);
  const controller = new AbortController();
  const abort = () => controller.abort();
  const timer = setTimeout(abort, ms);
  caller?.addEventListener("abort", abort);
  const clear = () => {
    clearTimeout(timer);
    caller?.removeEventListener("abort", abort);
  };
  return { signal: controller.signal, clear };
}

function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw new RequestAborted(signal);
}

function refusal({ status, headers, text }: CompleteResponse): ServiceRefused {
  const { error, message } = membersOfJson(text);
  const requestId = headers.get("x-request-id") ?? undefined;
  if (typeof error === "number" && typeof message === "string")
    return new ServiceRefused(message, error, status, requestId);
  const location = headers.get("location");
  const redirect = location === null ? "" : ` and a redirect to ${location}`;
  const described = `The response was ${status} without an Error body${redirect}.`;
  return new ServiceRefused(described, status * 100, status, requestId);
}

/** Empty if the text is not a JSON object. */
function membersOfJson(text: string): Record<string, unknown> {
  try {
    return Object(JSON.parse(text));
  } catch {
    return {};
  }
}

/** Node's own message is only "fetch failed"; its cause has the reason. */
function rootMessage(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.cause instanceof Error) return rootMessage(error.cause);
  const code = "code" in error && typeof error.code === "string" ? error.code : undefined;
  // Bun ends its message with a question.
  return error.message.replace(/\. Is the computer able[^.]*\?$/, "") || code || error.name;
}
