import type { RateLimit } from "../access/rate-limit.ts";
import type { Caller } from "../access/scopes.ts";
import type { BodyHandler, Exchange } from "../http/exchange.ts";
import { overRate, quoted, Refusal } from "../http/refusal.ts";
import { type Reply, refuse } from "../http/reply.ts";
import { noHeaders } from "../http/response-head.ts";
import type { Handler } from "../http/route.ts";
import { createResult } from "../plants/create-result.ts";
import type { Intake, PendingPlant, Rejected } from "../plants/intake.ts";
import { parseNewPlant } from "../plants/parse-new-plant.ts";
import type { NewPlant } from "../plants/plant.ts";
import type { Outcome } from "../plants/plant-store.ts";
import { PlantRefusal } from "../plants/refusals.ts";
import { isJsonMediaType } from "./json-media-type.ts";

const replayedHeaders = { "Idempotent-Replayed": "true" };
// As its Retry-After says. A client that comes back at once cannot do so sooner, and leaves the service to those it stores.
const busyDelayMs = 1000;

/**
 * The handler of `POST /plants`. It checks the rate limit, the media type, then the encoding, the size and the body. The router
 * has checked the path, the method and the credentials before: no body is parsed without valid credentials. It throws a `Refusal`
 * if the plant is refused before its body is read, and otherwise sends its reply later: an `await` would cost a tenth of the rate.
 */
export function createPlantHandler(rateLimit: RateLimit | undefined, intake: Intake): Handler {
  return (exchange, caller) => {
    if (rateLimit !== undefined) {
      const waitMs = rateLimit.take(caller.name, performance.now());
      if (waitMs > 0) throw overRate(waitMs);
    }
    const contentType = exchange.header("content-type");
    if (!isJsonMediaType(contentType)) throw wrongMediaType(contentType);
    exchange.readBody(new PlantRequest(exchange, caller, intake));
    return undefined;
  };
}

/** One plant on its way: its body, its place in the queue, its response. */
class PlantRequest implements BodyHandler, PendingPlant {
  readonly #exchange: Exchange;
  readonly #intake: Intake;
  readonly createdBy: string;
  /** Set once its body has been read, before it is queued. */
  plant!: NewPlant;

  constructor(exchange: Exchange, caller: Caller, intake: Intake) {
    this.#exchange = exchange;
    this.#intake = intake;
    this.createdBy = caller.name;
  }

  bodyReceived(bytes: Buffer, start: number, end: number): void {
    const plant = parseNewPlant(bytes, start, end);
    if (plant instanceof PlantRefusal) return this.#exchange.send(refuse(plant));
    this.plant = plant;
    this.#intake.create(this);
  }

  settle(outcome: Outcome | Rejected): void {
    const exchange = this.#exchange;
    const result = createResult(this.plant, outcome);
    switch (result.kind) {
      case "created":
      case "replayed":
        return exchange.send(stored(this.plant, result.kind));
      case "refused":
        return exchange.send(refuse(result.refusal));
      case "internal-error":
        return exchange.send(refuse({ kind: "internal-error", cause: result.reason }));
      case "too-busy":
        return exchange.sendLater(refuse(result), busyDelayMs);
      default:
        return exchange.send(refuse(result));
    }
  }
}

function stored({ name, tag }: NewPlant, outcome: "created" | "replayed"): Reply {
  return {
    status: 200,
    contentType: "application/json",
    headers: outcome === "replayed" ? replayedHeaders : noHeaders,
    // `json` would search for control characters, which every create would pay for.
    body: JSON.stringify({ name, tag }),
    outcome,
    refusal: undefined,
  };
}

function wrongMediaType(contentType: string | undefined): Refusal {
  const found = contentType === undefined ? "is missing" : `is ${quoted(contentType)}`;
  return new Refusal("wrong-media-type", `The Content-Type must be application/json, but ${found}.`);
}
