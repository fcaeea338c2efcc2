import { AbortControllers } from "./abort-controllers.ts";
import {
  type AttemptOptions,
  attempt,
  type CompleteResponse,
  type FailedAttempt,
  type Fetch,
} from "./attempt.ts";
import { type CreatePlantsOptions, createPlants, type PlantOutcome } from "./create-plants.ts";
import { ServiceRefused, ServiceUnreachable } from "./errors.ts";
import { type CreatedPlant, type NewPlant, type PlantJson, plantJson } from "./plant.ts";
import { Retries, type RetryOptions, sleep } from "./retry.ts";

export type { Fetch, FetchRequest, FetchResponse } from "./attempt.ts";
export type { CreatePlantsOptions, PlantOutcome, Progress } from "./create-plants.ts";
// biome-ignore lint/performance/noBarrelFile: a library has one entry, and its callers need the error classes.
export { RequestAborted, ServiceRefused, ServiceUnreachable } from "./errors.ts";
export type { CreatedPlant, NewPlant, PlantId, PlantJson } from "./plant.ts";

export interface ClientOptions extends Partial<RetryOptions> {
  /** Such as `https://example.org/garden/v1`. */
  readonly baseUrl: string | URL;
  readonly token: string;
  /** The time limit for one attempt. */
  readonly timeoutMs?: number;
  /** Replaces the platform's `fetch`. */
  readonly fetch?: Fetch;
}

export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
}

const defaults = {
  timeoutMs: 30_000,
  attemptsMax: 6,
  backoffMs: 200,
  backoffMsMax: 10_000,
  patienceMs: 120_000,
};
const tokenShape = /^[\x21-\x7e]+$/;
// A timer with a longer delay would fire immediately.
const optionMax = 2 ** 31 - 1;

/** Creates plants in a plant store. It retries on its own, because sending the same plant again is always safe. */
export class PlantStoreClient {
  readonly #attemptOptions: AttemptOptions;
  readonly #retryOptions: RetryOptions;

  constructor(options: ClientOptions) {
    const { baseUrl, token, fetch = platformFetch } = options;
    checkToken(token);
    const headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/json" };
    const timeoutMs = readNumber(options, "timeoutMs", 1);
    this.#attemptOptions = { fetch, url: plantsUrl(baseUrl), headers, timeoutMs };
    this.#retryOptions = {
      attemptsMax: readNumber(options, "attemptsMax", 1),
      backoffMs: readNumber(options, "backoffMs", 0),
      backoffMsMax: readNumber(options, "backoffMsMax", 0),
      patienceMs: readNumber(options, "patienceMs", 0),
    };
  }

  /**
   * Stores the plant and returns whether it was already stored.
   * @throws ServiceRefused, ServiceUnreachable, RequestAborted; TypeError for an id that is not exact.
   */
  async createPlant(plant: NewPlant, options: CallOptions = {}): Promise<CreatedPlant> {
    return this.createPlantFromJson(plantJson(plant), options);
  }

  /** Stores a plant from its JSON, which is sent unchanged. */
  async createPlantFromJson(json: PlantJson["json"], options: CallOptions = {}): Promise<CreatedPlant> {
    const controllers = new AbortControllers(options.signal);
    try {
      return await this.#send(json, controllers);
    } finally {
      controllers.close();
    }
  }

  /**
   * Stores many plants concurrently and yields the outcome of each as it completes. It reads the source only as fast as it
   * sends. A refused plant does not stop the others.
   * @throws ServiceRefused if every plant would be refused (such as for a wrong token), ServiceUnreachable, RequestAborted;
   * the outcomes of requests in flight are yielded first.
   */
  createPlants<Item extends NewPlant | PlantJson>(
    plants: Iterable<Item> | AsyncIterable<Item>,
    options: CreatePlantsOptions = {},
  ): AsyncGenerator<PlantOutcome<Item>, void, void> {
    const create = async (item: Item, controllers: AbortControllers) =>
      this.#send("json" in item ? item.json : plantJson(item), controllers);
    return createPlants(plants, create, options);
  }

  async #send(body: PlantJson["json"], controllers: AbortControllers): Promise<CreatedPlant> {
    const retries = new Retries(this.#retryOptions);
    for (;;) {
      retries.attempts++;
      const result = await attempt(this.#attemptOptions, body, controllers);
      if (result.status === 200) return this.#createdPlant(result, retries.attempts);
      const retryAfter = result.status === undefined ? null : result.headers.get("retry-after");
      const delayMs = retries.nextDelayMs(result.status, retryAfter);
      if (delayMs !== undefined) await sleep(delayMs, controllers.signal);
      else if (result.status === undefined) throw this.#unreachable(result, retries.attempts);
      else throw refusal(result, retries.attempts);
    }
  }

  #createdPlant({ headers, text }: CompleteResponse, attempts: number): CreatedPlant {
    const plant = jsonObject(text);
    const { name, tag } = plant ?? {};
    if (typeof name !== "string" || (tag !== undefined && typeof tag !== "string")) {
      throw new ServiceUnreachable(
        `${this.#attemptOptions.url} responded with something that is not a plant; check the base URL.`,
        attempts,
      );
    }
    const replayed = headers.get("idempotent-replayed") === "true";
    return tag === undefined ? { name, replayed } : { name, tag, replayed };
  }

  #unreachable({ reason, cause }: FailedAttempt, attempts: number): ServiceUnreachable {
    const tries = attempts === 1 ? "1 attempt" : `${attempts} attempts`;
    return new ServiceUnreachable(
      `${this.#attemptOptions.url} could not be reached in ${tries}: ${reason}.`,
      attempts,
      cause,
    );
  }
}

const platformFetch: Fetch = (url, request) => fetch(url, request);

// Any other value, such as NaN, could retry forever.
function readNumber(options: ClientOptions, name: keyof typeof defaults, min: number): number {
  const value = options[name] ?? defaults[name];
  if (typeof value === "number" && value >= min && value <= optionMax) return value;
  throw new TypeError(`${name} must be a number from ${min} to ${optionMax}.`);
}

// Also for callers without types: a variable that is not set would be sent as the token "undefined".
function checkToken(token: unknown): void {
  if (typeof token !== "string") throw new TypeError(`The token is ${nameOf(token)}, not a string.`);
  if (token === "") throw new TypeError("The token is empty.");
  // A line break in a token would add a header.
  if (!tokenShape.test(token)) throw new TypeError("The token must be printable ASCII without spaces.");
}

function plantsUrl(baseUrl: string | URL): string {
  if (typeof baseUrl !== "string" && !(baseUrl instanceof URL))
    throw new TypeError(`The base URL is ${nameOf(baseUrl)}, not a string or a URL.`);
  const text = String(baseUrl);
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    // Not quoted if it may contain a password.
    const given = text.includes("@") ? "" : `; it is ${JSON.stringify(text)}`;
    throw new TypeError(
      `The base URL must begin with http:// or https://, such as https://example.org/garden/v1${given}.`,
    );
  }
  if (url.username !== "" || url.password !== "")
    throw new TypeError("The base URL must not contain a user name or a password.");
  if (url.search !== "" || url.hash !== "")
    throw new TypeError("The base URL must not have a query or a fragment.");
  url.pathname = `${url.pathname.replace(/\/+$/, "")}/plants`;
  return url.href;
}

function nameOf(value: unknown): string {
  return value === null ? "null" : typeof value;
}

function refusal({ status, headers, text }: CompleteResponse, attempts: number): ServiceRefused {
  const { error, message } = jsonObject(text) ?? {};
  const requestId = headers.get("x-request-id") ?? undefined;
  if (typeof error === "number" && typeof message === "string") {
    return new ServiceRefused(message, { error, status, requestId, attempts });
  }
  const location = headers.get("location");
  const redirect = location === null ? "" : ` and a redirect to ${location}`;
  return new ServiceRefused(`The response was ${status} without an Error body${redirect}.`, {
    error: status * 100,
    status,
    requestId,
    attempts,
  });
}

function jsonObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
