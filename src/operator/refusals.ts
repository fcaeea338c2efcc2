import type { Denied } from "../access/gate.ts";
import type { Scope } from "../access/scopes.ts";
import { catalogue, type ErrorKind, statusOf } from "../http/error-catalogue.ts";
import { StoreUnavailable } from "../plants/plant-store.ts";
import type { Events } from "../telemetry/events.ts";
import { errorResponse, json, Refused } from "./call.ts";

export function failure(error: unknown, { signal }: Request, requestId: string, events: Events): Response {
  if (error instanceof Refused) {
    const headers = statusOf(error.kind) === 503 ? { "Retry-After": "1" } : {};
    return errorResponse(error.kind, error.message, headers);
  }
  if (error instanceof StoreUnavailable)
    return errorResponse("store-unavailable", "The store cannot be reached right now.", {
      "Retry-After": "1",
    });
  if (error instanceof Error && /maxRequestBodySize/.test(error.message))
    return errorResponse("body-too-large", "The body is over the limit.");
  // Whoever went away in the middle of a body gets no answer, and it is not an internal error.
  const gone =
    signal.aborted || (error instanceof Error && (error.name === "AbortError" || error.message === ""));
  if (gone) return errorResponse("not-http", "The body did not arrive whole.");
  events.internalError(requestId, error);
  return errorResponse("internal-error", catalogue["internal-error"].example);
}

export function readiness(serving: boolean, storeReady: boolean): Response {
  const kind: ErrorKind | undefined = serving ? (storeReady ? undefined : "store-unavailable") : "closing";
  if (kind === undefined) return json({ status: "ready" });
  return unready(kind);
}

function unready(kind: ErrorKind): Response {
  return errorResponse(kind, catalogue[kind].example, { "Retry-After": "1" });
}

export function denied(reason: Denied, scope: Scope): Response {
  if (reason === "store-unavailable") return unready(reason);
  const detail = {
    "no-credentials": "",
    "bad-credentials": ', error="invalid_token"',
    "lacks-scope": `, error="insufficient_scope", scope="${scope}"`,
  };
  const message =
    reason === "lacks-scope" ? `The token lacks the scope ${scope}.` : catalogue[reason].example;
  return errorResponse(reason, message, {
    "WWW-Authenticate": `Bearer realm="plant-store"${detail[reason]}`,
  });
}
