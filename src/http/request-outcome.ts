import type { RequestOutcome } from "../telemetry/counters.ts";
import { type ErrorKind, statusOf } from "./error-catalogue.ts";

/** For the duration of a request that gets this error. */
export function outcomeOf(kind: ErrorKind): RequestOutcome {
  if (kind === "id-conflict") return "conflict";
  if (kind === "too-busy") return "busy";
  const status = statusOf(kind);
  if (status === 401 || status === 403) return "denied";
  if (status === 429) return "rate_limited";
  if (status === 503) return "unavailable";
  return status < 500 ? "invalid" : "failed";
}
