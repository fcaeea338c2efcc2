import type { Caller } from "../access/gate.ts";
import type { RateLimit } from "../access/rate-limit.ts";
import type { BodyHandler, Exchange } from "../http/exchange.ts";
import { HttpError, overRateError } from "../http/http-error.ts";
import type { Handler } from "../http/route.ts";
import { createResult } from "../plants/create-result.ts";
import type { Intake, PendingPlant, Rejected } from "../plants/intake.ts";
import { parseNewPlant } from "../plants/parse-new-plant.ts";
import type { NewPlant } from "../plants/plant.ts";
import type { Outcome } from "../plants/plant-store.ts";
import { Refusal } from "../plants/refusals.ts";
import { shortened } from "../text/cut-text.ts";
import { BusyResponses } from "./busy-responses.ts";
import { isJsonMediaType } from "./json-media-type.ts";

const replayedHeaders = { "Idempotent-Replayed": "true" };
const quotedCharactersMax = 100;

/**
 * The handler of `POST /plants`. It checks the rate limit, the media type, then the encoding, the size and the body. The router
 * has checked the path, the method and the credentials before: no body is parsed without valid credentials. It throws an
 * `HttpError` if the plant is refused before its body is read.
 */
export function createPlantHandler(rateLimit: RateLimit | undefined, intake: Intake): Handler {
  const busyResponses = new BusyResponses();
  return (exchange, caller) => {
    if (rateLimit !== undefined) {
      const waitMs = rateLimit.take(caller.name, performance.now());
      if (waitMs > 0) throw overRateError(waitMs);
    }
    const contentType = exchange.header("content-type");
    if (!isJsonMediaType(contentType)) throw wrongMediaTypeError(contentType);
    exchange.readBody(new PlantRequest(exchange, caller, intake, busyResponses));
  };
}

/** One plant on its way: its body, its place in the queue, its response. */
class PlantRequest implements BodyHandler, PendingPlant {
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

  bodyReceived(bytes: Buffer, start: number, end: number): void {
    const plant = parseNewPlant(bytes, start, end);
    if (plant instanceof Refusal) return this.#exchange.respondError(plant.kind, plant.message);
    this.plant = plant;
    this.#intake.create(this);
  }

  settle(outcome: Outcome | Rejected): void {
    const exchange = this.#exchange;
    const result = createResult(this.plant, outcome);
    switch (result.kind) {
      case "created":
      case "replayed":
        return this.#respondStored(result.kind);
      case "refused":
        return exchange.respondError(result.refusal.kind, result.refusal.message);
      case "internal-error":
        return exchange.respondInternalError(result.reason);
      case "too-busy":
        return this.#busyResponses.send(exchange);
      default:
        return exchange.respondError(result.kind);
    }
  }

  #respondStored(result: "created" | "replayed"): void {
    const { name, tag } = this.plant;
    const headers = result === "replayed" ? replayedHeaders : undefined;
    // `exchange.respondJson` would search for control characters, which every create would pay for.
    const body = JSON.stringify({ name, tag });
    this.#exchange.respond("application/json", body, headers, result);
  }
}

function wrongMediaTypeError(contentType: string | undefined): HttpError {
  const found =
    contentType === undefined ? "is missing" : `is ${shortened(contentType, quotedCharactersMax)}`;
  return new HttpError("wrong-media-type", `The Content-Type must be application/json, but ${found}.`);
}
