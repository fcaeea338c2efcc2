import type { RateLimit } from "../access/rate-limit.ts";
import type { Exchange } from "../http/exchange.ts";
import { isJsonMediaType } from "../http/media-type.ts";
import { requestIds } from "../http/request-fields.ts";
import type { Route } from "../http/route.ts";
import type { Intake, Rejected } from "../plants/intake.ts";
import { parseNewPlant } from "../plants/parse-new-plant.ts";
import type { NewPlant } from "../plants/plant.ts";
import type { Outcome } from "../plants/plant-store.ts";
import { idConflict, Refusal } from "../plants/refusals.ts";
import type { Events } from "../telemetry/events.ts";
import { Pace } from "./pace.ts";

// A refusal costs nearly what a create does, and a client that is refused may come back immediately. This many per second leave
// nine tenths of a core to the plants that are stored.
const busyResponsesPerTick = 20;
const busyTickMs = 10;
const replayed = { "Idempotent-Replayed": "true" };

export interface CreatePlantParts {
  readonly rateLimit: RateLimit;
  readonly intake: Pick<Intake, "create" | "flush" | "ready">;
  readonly events: Events;
}

/** The order of checks is the design's: credentials, media type, size, body. */
export const createPlant = {
  method: "POST",
  path: "/plants",
  scope: "plants:create",
  handler({ rateLimit, intake, events }) {
    const busyResponses = new Pace(busyResponsesPerTick, busyTickMs);
    return (exchange, caller) => {
      const rate = caller.rateLimit ?? rateLimit.rate;
      if (rate !== undefined) {
        const waitMs = rateLimit.take(caller.name, performance.now(), rate);
        if (waitMs > 0) return overRate(exchange, waitMs);
      }
      const contentType = exchange.header("content-type");
      if (!isJsonMediaType(contentType)) return wrongMediaType(exchange, contentType);
      if (exchange.header("content-encoding") !== undefined) return exchange.error("encoded-body");

      exchange.readBody((body) => {
        const plant = parseNewPlant(body);
        if (plant instanceof Refusal) return exchange.error(plant.kind, plant.message);
        const settle = (outcome: Outcome | Rejected): void => {
          if (outcome === "too-busy") busyResponses.run(() => respond(exchange, plant, outcome, events));
          else respond(exchange, plant, outcome, events);
        };
        intake.create(plant, caller.name, settle);
      });
    };
  },
} satisfies Route<CreatePlantParts>;

function respond(exchange: Exchange, plant: NewPlant, outcome: Outcome | Rejected, events: Events): void {
  if (typeof outcome === "string") exchange.error(outcome);
  else if (outcome.kind === "conflict")
    exchange.error("id-conflict", idConflict(plant.id, outcome.differing).message);
  else if (outcome.kind === "failed") {
    events.internalError(() => requestIds(exchange), outcome.reason);
    exchange.error("internal-error");
  } else {
    exchange.outcome = outcome.kind;
    const { name, tag } = plant;
    const headers = outcome.kind === "replayed" ? replayed : undefined;
    exchange.respond("application/json", JSON.stringify({ name, tag }), headers);
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
