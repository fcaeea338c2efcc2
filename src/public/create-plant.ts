import type { Denied, Gate } from "../access/gate.ts";
import type { RateLimit } from "../access/rate-limit.ts";
import { type Exchange, type Handler, retrySoon } from "../http/exchange.ts";
import { isJsonMediaType } from "../http/media-type.ts";
import type { PlantIntake, Rejected } from "../plants/intake.ts";
import { parseNewPlant } from "../plants/parse-new-plant.ts";
import type { NewPlant, PlantField } from "../plants/plant.ts";
import type { Outcome } from "../plants/plant-store.ts";
import { Refusal } from "../plants/refusals.ts";
import type { Events } from "../telemetry/events.ts";
import { Pace } from "./pace.ts";

const scope = "plants:create";
// A refusal costs nearly what a create does, and a client that is refused may come back at once. So many a second leave
// nine tenths of a core to the plants that are stored.
const busyAnswersPerTick = 20;
const busyTickMs = 10;

export interface CreatePlantParts {
  readonly gate: Gate;
  readonly rateLimit: RateLimit | undefined;
  readonly intake: PlantIntake;
  readonly events: Events;
}

/** POST /plants. The order of checks is the design's: credentials, media type, size, body. */
export function createPlant({ gate, rateLimit, intake, events }: CreatePlantParts): Handler {
  const busyAnswers = new Pace(busyAnswersPerTick, busyTickMs);
  // Callbacks and no promises: an await at each step of this path costs a tenth of the rate.
  return (exchange) => {
    const nowMs = Date.now();
    const caller = gate.admit(exchange.header("authorization"), scope, nowMs);
    if (typeof caller === "string") return denied(exchange, caller);
    if (rateLimit !== undefined) {
      const waitMs = rateLimit.take(caller.name, nowMs);
      if (waitMs > 0) return overRate(exchange, waitMs);
    }
    const contentType = exchange.header("content-type");
    if (!isJsonMediaType(contentType)) return wrongMediaType(exchange, contentType);
    if (exchange.header("content-encoding") !== undefined) return exchange.error("encoded-body");

    exchange.readBody((body) => {
      const plant = parseNewPlant(body);
      if (plant instanceof Refusal) return exchange.error(plant.kind, plant.message);
      intake.create(plant, caller.name, (outcome) => {
        if (outcome === "too-busy") busyAnswers.run(() => present(exchange, plant, outcome, events));
        else present(exchange, plant, outcome, events);
      });
    });
  };
}

function present(exchange: Exchange, plant: NewPlant, outcome: Outcome | Rejected, events: Events): void {
  if (typeof outcome === "string") exchange.error(outcome, undefined, retrySoon);
  else if (outcome.kind === "conflict")
    exchange.error("id-conflict", conflictMessage(plant.id, outcome.differing));
  else if (outcome.kind === "failed") {
    events.internalError(exchange.requestId, outcome.reason);
    exchange.error("internal-error");
  } else exchange.plant(plant, outcome.kind === "replayed");
}

function denied(exchange: Exchange, why: Denied): void {
  if (why === "store-unavailable") return exchange.error(why, undefined, retrySoon);
  const challenge = 'Bearer realm="plant-store"';
  const authenticate = {
    "no-credentials": challenge,
    "bad-credentials": `${challenge}, error="invalid_token"`,
    "lacks-scope": `${challenge}, error="insufficient_scope", scope="${scope}"`,
  }[why];
  exchange.error(why, undefined, { "WWW-Authenticate": authenticate });
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

function conflictMessage(id: bigint, differing: readonly PlantField[]): string {
  return `The id ${id} already belongs to a plant with a different ${differing.join(" and a different ")}.`;
}
