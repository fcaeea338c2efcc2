import { type Answer, type AttemptOptions, attempt, type Fetch, NoAnswer } from "./attempt.ts";
import { type CreatePlantsOptions, createPlants, type PlantOutcome } from "./create-plants.ts";
import { Endings } from "./endings.ts";
import { ServiceRefused, ServiceUnreachable } from "./errors.ts";
import { type CreatedPlant, jsonOf, type NewPlant, type PlantJson } from "./plant.ts";
import { Retries, type RetryOptions, wait } from "./retry.ts";

export type { Fetch, FetchAnswer, FetchRequest } from "./attempt.ts";
export type { CreatePlantsOptions, PlantOutcome, Progress } from "./create-plants.ts";
// biome-ignore lint/performance/noBarrelFile: a library has one entry, and its callers need the errors to tell them apart.
export { RequestAborted, ServiceRefused, ServiceUnreachable } from "./errors.ts";
export type { CreatedPlant, NewPlant, PlantId, PlantJson } from "./plant.ts";

export interface ClientOptions extends Partial<RetryOptions> {
  /** Where the service is, such as `https://example.org/garden/v1`. */
  readonly baseUrl: string | URL;
  readonly token: string;
  /** How long one attempt may take. */
  readonly timeoutMs?: number;
  /** Another transport in place of the platform's `fetch`. */
  readonly fetch?: Fetch;
}

export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
}

const standard = {
  timeoutMs: 30_000,
  attemptsMax: 6,
  backoffMs: 200,
  backoffMsMax: 10_000,
  patienceMs: 120_000,
};
const tokenShape = /^[\x21-\x7e]+$/;
// Timers take no longer wait: they would go off at once.
const optionMax = 2 ** 31 - 1;

/** Creates plants in a plant store. It retries by itself, because sending the same plant again is always safe. */
export class PlantStoreClient {
  readonly #attempts: AttemptOptions;
  readonly #retries: RetryOptions;

  constructor(options: ClientOptions) {
    const { baseUrl, token, fetch = platformFetch } = options;
    // A line break in a token would be a header of its own.
    if (!tokenShape.test(token)) throw new TypeError("The token must be printable ASCII without spaces.");
    const headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/json" };
    const timeoutMs = numberOf(options, "timeoutMs", 1);
    this.#attempts = { fetch, url: plantsUrl(baseUrl), headers, timeoutMs };
    this.#retries = {
      attemptsMax: numberOf(options, "attemptsMax", 1),
      backoffMs: numberOf(options, "backoffMs", 0),
      backoffMsMax: numberOf(options, "backoffMsMax", 0),
      patienceMs: numberOf(options, "patienceMs", 0),
    };
  }

  /**
   * Stores the plant and says whether it was stored already.
   * @throws ServiceRefused, ServiceUnreachable, RequestAborted; TypeError for an id that is not exact.
   */
  async createPlant(plant: NewPlant, options: CallOptions = {}): Promise<CreatedPlant> {
    return this.#sendOne(jsonOf(plant), options.signal);
  }

  /** The same for a plant whose JSON is at hand: it is sent as it is, to the byte. */
  createPlantFromJson(json: PlantJson["json"], options: CallOptions = {}): Promise<CreatedPlant> {
    return this.#sendOne(json, options.signal);
  }

  /**
   * Stores many plants, several at a time, and yields what became of each, in the order in which that is known. It
   * pulls from the source only as fast as it sends. A plant that is refused does not stop the rest.
   * @throws ServiceRefused where no plant would be taken (such as a wrong token), ServiceUnreachable, RequestAborted;
   * each once what was in flight has been yielded.
   */
  createPlants<Item extends NewPlant | PlantJson>(
    plants: Iterable<Item> | AsyncIterable<Item>,
    options: CreatePlantsOptions = {},
  ): AsyncGenerator<PlantOutcome<Item>, void, void> {
    const create = async (item: Item, endings: Endings) =>
      this.#send("json" in item ? item.json : jsonOf(item), endings);
    return createPlants(plants, create, options);
  }

  async #sendOne(body: PlantJson["json"], signal: AbortSignal | undefined): Promise<CreatedPlant> {
    const endings = new Endings(signal);
    try {
      return await this.#send(body, endings);
    } finally {
      endings.close();
    }
  }

  async #send(body: PlantJson["json"], endings: Endings): Promise<CreatedPlant> {
    const retries = new Retries(this.#retries);
    for (;;) {
      retries.attempts++;
      const answer = await attempt(this.#attempts, body, endings);
      const answered = !(answer instanceof NoAnswer);
      if (answered && answer.status === 200) return this.#created(answer, retries.attempts);
      const waitMs = answered
        ? retries.waitMs(answer.status, answer.headers.get("retry-after"))
        : retries.waitMs(undefined, null);
      if (waitMs === undefined)
        throw answered ? refusal(answer, retries.attempts) : this.#unreachable(answer, retries.attempts);
      await wait(waitMs, endings.signal);
    }
  }

  #created({ headers, text }: Answer, attempts: number): CreatedPlant {
    const plant = jsonObject(text);
    const { name, tag } = plant ?? {};
    if (typeof name !== "string" || (tag !== undefined && typeof tag !== "string")) {
      throw new ServiceUnreachable(
        `${this.#attempts.url} answered with something that is no plant; the address may be wrong.`,
        attempts,
      );
    }
    const replayed = headers.get("idempotent-replayed") === "true";
    return tag === undefined ? { name, replayed } : { name, tag, replayed };
  }

  #unreachable({ reason, cause }: NoAnswer, attempts: number): ServiceUnreachable {
    const tries = attempts === 1 ? "1 attempt" : `${attempts} attempts`;
    return new ServiceUnreachable(
      `${this.#attempts.url} could not be reached in ${tries}: ${reason}.`,
      attempts,
      cause,
    );
  }
}

const platformFetch: Fetch = (url, request) => fetch(url, request);

// An undefined option counts as not given. Any other value that is no such number would retry for ever.
function numberOf(options: ClientOptions, name: keyof typeof standard, least: number): number {
  const value = options[name] ?? standard[name];
  if (typeof value === "number" && value >= least && value <= optionMax) return value;
  throw new TypeError(`${name} must be a number from ${least} to ${optionMax}.`);
}

function plantsUrl(baseUrl: string | URL): string {
  const url = new URL(baseUrl);
  if (!/^https?:$/.test(url.protocol)) throw new TypeError(`${url.href} is no http or https address.`);
  url.pathname = `${url.pathname.replace(/\/+$/, "")}/plants`;
  return url.href;
}

function refusal({ status, headers, text }: Answer, attempts: number): ServiceRefused {
  const { error, message } = jsonObject(text) ?? {};
  const requestId = headers.get("x-request-id") ?? undefined;
  if (typeof error === "number" && typeof message === "string") {
    return new ServiceRefused(message, { error, status, requestId, attempts });
  }
  const location = headers.get("location");
  const towards = location === null ? "" : ` and a redirect to ${location}`;
  return new ServiceRefused(`The answer was ${status} without an Error body${towards}.`, {
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
