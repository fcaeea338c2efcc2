import type { Caller } from "../access/gate.ts";
import { catalogue, type ErrorKind, statusOf } from "../http/error-catalogue.ts";

/** One request to the operator's side, let in already. */
export interface Call {
  readonly request: Request;
  readonly query: URLSearchParams;
  /** What stands in the path where the route has a `*`. */
  readonly named: string;
  readonly caller: Caller;
  /** Whether the same token would be let in now: for what goes on for long. */
  readonly stillAllowed: () => boolean;
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

/** The request's body as a JSON object; none at all counts as an empty one. */
export async function readObject(request: Request): Promise<Record<string, unknown>> {
  const text = await readText(request);
  if (text.trim() === "") return {};
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new Refused("wrong-parameter", "The body is not JSON.");
  }
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new Refused("wrong-parameter", "The body must be a JSON object.");
  return value as Record<string, unknown>;
}

async function readText(request: Request): Promise<string> {
  const bytes = new Uint8Array(await request.arrayBuffer());
  if (bytes.length > bodyBytesMax)
    throw new Refused("body-too-large", `The body is over the limit of ${bodyBytesMax} bytes.`);
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new Refused("wrong-parameter", "The body is not UTF-8.");
  }
}
