import type { Caller } from "../access/gate.ts";
import { catalogue, type ErrorKind, statusOf } from "../http/error-catalogue.ts";
import { parseMembers } from "../plants/json-body.ts";
import { Refusal } from "../plants/refusals.ts";

/** One request to the operator's side, let in already. */
export interface Call {
  readonly request: Request;
  readonly query: URLSearchParams;
  /** What stands in the path where the route has a `*`. */
  readonly named: string;
  readonly caller: Caller;
  /** Whether the same token would be let in now: for what goes on for long. */
  readonly stillAllowed: () => boolean;
  /** Closes the connection within a few seconds, whether its client reads or not. */
  readonly cut: () => void;
}

export type Answer = (call: Call) => Response | Promise<Response>;

/** An answer other than the one that was asked for; may be thrown from anywhere below the listener. */
export class Refused extends Error {
  override readonly name = "Refused";
  readonly kind: ErrorKind;

  constructor(kind: ErrorKind, message: string = catalogue[kind].example) {
    super(message);
    this.kind = kind;
  }
}

const bodyBytesMax = 65_536;

export function json(body: unknown, status = 200): Response {
  return new Response(JSON.stringify(body), { status, headers: { "Content-Type": "application/json" } });
}

export function errorResponse(
  kind: ErrorKind,
  message: string,
  headers: Record<string, string> = {},
): Response {
  const body = JSON.stringify({ error: catalogue[kind].error, message });
  return new Response(body, {
    status: statusOf(kind),
    headers: { "Content-Type": "application/json", ...headers },
  });
}

/**
 * The request's body as a JSON object with no other members than these; no body at all counts as an empty one. A member that
 * is misspelled must not be one that is left out: `expires` would make a token that never expires.
 */
export async function readObject(
  request: Request,
  known: readonly string[],
): Promise<Readonly<Record<string, unknown>>> {
  const body = new Uint8Array(await request.arrayBuffer());
  if (body.length > bodyBytesMax)
    throw new Refused("body-too-large", `The body is over the limit of ${bodyBytesMax} bytes.`);
  if (body.length === 0) return {};
  const members = strictMembers(body);
  for (const name of members.keys()) {
    if (known.includes(name)) continue;
    const there =
      known.length === 0 ? "are none" : `${known.length === 1 ? "is" : "are"} ${known.join(", ")}`;
    throw new Refused(
      "wrong-parameter",
      `There is no field ${JSON.stringify(name.slice(0, 50))} here; there ${there}.`,
    );
  }
  return Object.fromEntries(members);
}

function strictMembers(body: Uint8Array): ReadonlyMap<string, unknown> {
  try {
    return parseMembers(body);
  } catch (error) {
    throw error instanceof Refusal ? new Refused(error.kind, error.message) : error;
  }
}
