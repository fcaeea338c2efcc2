import { catalogue, type ErrorKind, publicKinds } from "../http/error-catalogue.ts";
import { type Route, route } from "../http/route.ts";
import type { Events } from "../telemetry/events.ts";
import { type RefusedSender, sendersPerErrorMax } from "../telemetry/refused-senders.ts";
import { shortened } from "../text/cut-text.ts";
import { maskTokens } from "../text/mask-tokens.ts";
import { isoTime } from "../text/time.ts";
import { readCount, readQuery } from "./parameters.ts";
import type { RefusalJson, RefusalsJson } from "./responses.ts";

const messageCharactersMax = 300;
// More than there can be: a few for each error.
const limitMax = 10_000;
const kindsByError = new Map(
  Object.entries(catalogue).map(([kind, { error }]) => [error, kind as ErrorKind]),
);

/** Who got which error last, and with which message. */
export function refusalsRoute(events: Events, publicUrl: string, startedAtMs: number): Route {
  const startedAt = isoTime(startedAtMs);
  return route("GET", "/api/refusals", "operator", (exchange) => {
    const limit = readCount(readQuery(exchange.query, ["limit"]), "limit", limitMax, limitMax);
    const senders = events.refusedSenders.list().slice(0, limit);
    const refusals = senders.map((sender) => presentRefusal(sender, publicUrl));
    exchange.respondJson({ startedAt, sendersPerErrorMax, refusals } satisfies RefusalsJson);
  });
}

export function presentRefusal(sender: RefusedSender, publicUrl: string): RefusalJson {
  const { error, listener, token, address, count, atMs, message, requestId } = sender;
  const kind = kindsByError.get(error) ?? "internal-error";
  return {
    error,
    reason: catalogue[kind].when,
    docsUrl: publicKinds.includes(kind) ? `${publicUrl}/docs#${error}` : undefined,
    listener,
    token,
    address,
    count,
    lastAt: isoTime(atMs),
    // Masked first: the end of a JWT that is cut off would not be recognised.
    message: shortened(maskTokens(message), messageCharactersMax),
    requestId: maskTokens(requestId),
  };
}
