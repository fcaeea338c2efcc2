import type { Caller } from "../access/gate.ts";
import type { RateLimit } from "../access/rate-limit.ts";
import type { BodyReceiver, Exchange } from "../http/exchange.ts";
import type { Intake, PendingPlant, Rejected } from "../plants/intake.ts";
import { parseNewPlant } from "../plants/parse-new-plant.ts";
import type { NewPlant } from "../plants/plant.ts";
import type { Outcome } from "../plants/plant-store.ts";
import { idConflict, Refusal } from "../plants/refusals.ts";

// A refusal costs nearly what a create does, and a client that is refused may come back immediately. This many per second leave
// nine tenths of a core to the plants that are stored.
const busyResponsesPerTick = 20;
const busyTickMs = 10;
const replayed = { "Idempotent-Replayed": "true" };
const contentTypeCharactersMax = 256;
const token = "[!#$%&'*+.^_`|~0-9A-Za-z-]+";
const parameter = new RegExp(`[ \\t]*;[ \\t]*(?:(${token})=(?:(${token})|"((?:[^"\\\\]|\\\\.)*)"))?`, "y");
const jsonType = /^[ \t]*application\/json/i;

/** `POST /plants`. */
export class CreatePlant {
  readonly #rateLimit: RateLimit | undefined;
  readonly #intake: Intake;
  readonly #busyResponses = new BusyResponses();

  constructor(rateLimit: RateLimit | undefined, intake: Intake) {
    this.#rateLimit = rateLimit;
    this.#intake = intake;
  }

  /** The order of checks is the design's: credentials, rate limit, media type, size, body. */
  handle(exchange: Exchange, caller: Caller): void {
    if (this.#rateLimit !== undefined) {
      const waitMs = this.#rateLimit.take(caller.name, performance.now());
      if (waitMs > 0) return overRate(exchange, waitMs);
    }
    const contentType = exchange.header("content-type");
    if (!isJsonMediaType(contentType)) return wrongMediaType(exchange, contentType);
    if (exchange.header("content-encoding") !== undefined) return exchange.error("encoded-body");
    exchange.readBody(new PlantRequest(exchange, caller, this.#intake, this.#busyResponses));
  }
}

/** One plant on its way: its body, its place in the queue, its response. */
class PlantRequest implements BodyReceiver, PendingPlant {
  readonly #exchange: Exchange;
  readonly #intake: Intake;
  readonly #busyResponses: BusyResponses;
  readonly createdBy: string;
  /** Set once its body has been read, before it is queued. */
  plant!: NewPlant;

  constructor(exchange: Exchange, caller: Caller, intake: Intake, busyResponses: BusyResponses) {
    this.#exchange = exchange;
    this.#intake = intake;
    this.#busyResponses = busyResponses;
    this.createdBy = caller.name;
  }

  received(body: Uint8Array): void {
    const plant = parseNewPlant(body);
    if (plant instanceof Refusal) return this.#exchange.error(plant.kind, plant.message);
    this.plant = plant;
    this.#intake.create(this);
  }

  settle(outcome: Outcome | Rejected): void {
    const exchange = this.#exchange;
    const { id, name, tag } = this.plant;
    if (outcome === "too-busy") this.#busyResponses.send(exchange);
    else if (typeof outcome === "string") exchange.error(outcome);
    else if (outcome.kind === "failed") exchange.internalError(outcome.reason);
    else if (outcome.kind === "conflict")
      exchange.error("id-conflict", idConflict(id, outcome.differing).message);
    else {
      exchange.outcome = outcome.kind;
      const headers = outcome.kind === "replayed" ? replayed : undefined;
      exchange.respond("application/json", JSON.stringify({ name, tag }), headers);
    }
  }
}

/** Spreads out the refusals of plants for which the queue has no room: so many per tick are sent immediately, the rest wait their turn. */
class BusyResponses {
  #left = busyResponsesPerTick;
  #waiting: Exchange[] = [];
  #timer: NodeJS.Timeout | undefined;

  send(exchange: Exchange): void {
    this.#timer ??= setInterval(() => this.#tick(), busyTickMs);
    if (this.#left === 0) return void this.#waiting.push(exchange);
    this.#left--;
    exchange.error("too-busy");
  }

  #tick(): void {
    const due = this.#waiting.splice(0, busyResponsesPerTick);
    this.#left = busyResponsesPerTick - due.length;
    for (const exchange of due) exchange.error("too-busy");
    if (due.length > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}

/** Whether a Content-Type is JSON in UTF-8: case and other parameters are fine, another charset is not. */
function isJsonMediaType(contentType: string | undefined): boolean {
  if (contentType === "application/json") return true;
  if (contentType === undefined || contentType.length > contentTypeCharactersMax) return false;
  const type = jsonType.exec(contentType);
  if (type === null) return false;
  let at = type[0].length;
  for (;;) {
    parameter.lastIndex = at;
    const match = parameter.exec(contentType);
    if (match === null) return contentType.slice(at).trim() === "";
    const [whole, name = "", plain, quoted] = match;
    if (name.toLowerCase() === "charset" && !/^utf-?8$/i.test(plain ?? quoted ?? "")) return false;
    at += whole.length;
  }
}

function overRate(exchange: Exchange, waitMs: number): void {
  const seconds = Math.ceil(waitMs / 1000);
  const message = `This token is over its rate limit. Try again in ${seconds} s.`;
  exchange.error("over-rate", message, { "Retry-After": String(seconds) });
}

function wrongMediaType(exchange: Exchange, contentType: string | undefined): void {
  const came = contentType === undefined ? "is missing" : `is ${contentType.slice(0, 100)}`;
  exchange.error("wrong-media-type", `The Content-Type must be application/json, but ${came}.`);
}
