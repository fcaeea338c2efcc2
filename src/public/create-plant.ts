import type { RateLimit } from "../access/rate-limit.ts";
import type { Exchange } from "../http/exchange.ts";
import { isJsonMediaType } from "../http/media-type.ts";
import { jsonContent } from "../http/openapi.ts";
import { requestIds } from "../http/request-fields.ts";
import type { Route } from "../http/route.ts";
import type { PlantIntake, Rejected } from "../plants/intake.ts";
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
  readonly intake: PlantIntake;
  readonly events: Events;
}

/** The order of checks is the design's: credentials, media type, size, body. */
export const createPlant = {
  method: "POST",
  path: "/plants",
  scope: "plants:create",
  operation: {
    operationId: "createPlant",
    tags: ["plants"],
    summary: "Creates a new plant in the store.",
    description:
      "A 200 means that the plant is on disk. A retry is always safe: the same plant is stored once.",
    requestBody: {
      required: true,
      content: jsonContent("NewPlant", {
        tagged: { summary: "With a tag", value: { id: 1, name: "Fern", tag: "indoor" } },
        untagged: { summary: "Without a tag", value: { id: 2, name: "Oak" } },
      }),
    },
    success: {
      status: 200,
      description: "Plant response: the plant is on disk.",
      headers: {
        "Idempotent-Replayed": {
          description: "`true` where the same plant was stored before.",
          schema: { type: "string", enum: ["true"] },
        },
      },
      content: jsonContent("Plant", {
        tagged: { summary: "With a tag", value: { name: "Fern", tag: "indoor" } },
        untagged: { summary: "Without a tag", value: { name: "Oak" } },
      }),
    },
  },
  handler({ rateLimit, intake, events }) {
    const busyResponses = new Pace(busyResponsesPerTick, busyTickMs);
    return (exchange, caller) => {
      const rate = caller.rateLimit ?? rateLimit.rate;
      if (rate !== undefined) {
        const waitMs = rateLimit.take(caller.name, Date.now(), rate);
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
