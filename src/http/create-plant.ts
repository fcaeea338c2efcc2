import type { Denied, Gate } from "../access/gate.ts";
import type { RateLimit } from "../access/rate-limit.ts";
import type { Intake } from "../plants/intake.ts";
import { parseNewPlant } from "../plants/parse-new-plant.ts";
import type { PlantField } from "../plants/plant.ts";
import { Refusal } from "../plants/refusals.ts";
import type { BodyFault, BodyReader } from "./body-reader.ts";
import { isJsonMediaType } from "./media-type.ts";
import type { Respond, RouteHandler } from "./respond.ts";

const scope = "plants:create";
const closeConnection = { Connection: "close" };
const retrySoon = { "Retry-After": "1" };

export interface CreatePlantParts {
  readonly gate: Gate;
  readonly rateLimit: RateLimit | undefined;
  readonly bodies: BodyReader;
  readonly intake: Intake;
  /** For messages: what the body reader holds bodies to. */
  readonly bodyBytesMax: number;
  readonly bodyTimeoutMs: number;
}

/** POST /plants. The order of checks is the contract's: credentials, media type, size, body. */
export function createPlant(parts: CreatePlantParts): RouteHandler {
  const { gate, rateLimit, bodies, intake } = parts;

  return async (request, respond) => {
    const { headers } = request;
    const nowMs = Date.now();
    const caller = gate.admit(headers.get("authorization"), scope, nowMs);
    if (typeof caller === "string") return denied(respond, caller);
    if (rateLimit !== undefined) {
      const waitMs = rateLimit.take(caller.name, nowMs);
      if (waitMs > 0) return overRate(respond, waitMs);
    }
    const contentType = headers.get("content-type");
    if (!isJsonMediaType(contentType)) return wrongMediaType(respond, contentType);
    if (headers.get("content-encoding") !== null) return respond.error("encoded-body");

    const body = await bodies.read(request, nowMs);
    if (typeof body === "string") return unreadBody(respond, body, parts);
    const plant = parseNewPlant(body);
    if (plant instanceof Refusal) return respond.error(plant.kind, plant.message);

    const outcome = await intake.create(plant, caller.name);
    if (typeof outcome === "string") return respond.error(outcome, undefined, retrySoon);
    if (outcome.kind === "taken") return respond.error("id-taken", takenMessage(plant.id, outcome.differing));
    return respond.plant(plant, outcome.kind === "replayed");
  };
}

function denied(respond: Respond, why: Denied): Response {
  const challenge = 'Bearer realm="plant-store"';
  const authenticate = {
    "no-credentials": challenge,
    "bad-credentials": `${challenge}, error="invalid_token"`,
    "lacks-scope": `${challenge}, error="insufficient_scope", scope="${scope}"`,
  }[why];
  return respond.error(why, undefined, { "WWW-Authenticate": authenticate });
}

function overRate(respond: Respond, waitMs: number): Response {
  const seconds = Math.ceil(waitMs / 1000);
  const message = `This token is over its rate limit. Try again in ${seconds} s.`;
  return respond.error("over-rate", message, { "Retry-After": String(seconds) });
}

function wrongMediaType(respond: Respond, contentType: string | null): Response {
  const came = contentType === null ? "is missing" : `is ${contentType.slice(0, 100)}`;
  return respond.error("wrong-media-type", `The Content-Type must be application/json, but ${came}.`);
}

function unreadBody(
  respond: Respond,
  fault: BodyFault,
  { bodyBytesMax, bodyTimeoutMs }: CreatePlantParts,
): Response {
  // Nobody is there to read it; the response only ends the exchange.
  if (fault === "aborted") return new Response(null, { headers: closeConnection });
  const message =
    fault === "body-too-large"
      ? `The body is over the limit of ${bodyBytesMax} bytes.`
      : `The body did not arrive within ${bodyTimeoutMs / 1000} s.`;
  // What is left of the body is not worth reading, and the connection cannot be used without reading it.
  return respond.error(fault, message, closeConnection);
}

function takenMessage(id: bigint, differing: readonly PlantField[]): string {
  return `The id ${id} already belongs to a plant with a different ${differing.join(" and a different ")}.`;
}
