import { catalogue, type ErrorKind, publicKinds } from "../http/error-catalogue.ts";
import type { Events } from "../telemetry/events.ts";
import { type RefusedSender, sendersPerErrorMax } from "../telemetry/refused-senders.ts";
import { shortened } from "../text/cut-text.ts";
import { maskTokens } from "../text/mask-tokens.ts";
import { isoTime } from "../text/time.ts";

const messageCharactersMax = 300;
const kindsByError = new Map(
  Object.entries(catalogue).map(([kind, { error }]) => [error, kind as ErrorKind]),
);

/** Who got which error last, and with which message. */
export function listRefusals(events: Events, publicUrl: string, startedAtMs: number) {
  const refusals = events.refusedSenders.list().map((sender) => presentRefusal(sender, publicUrl));
  return { startedAt: isoTime(startedAtMs), sendersPerErrorMax, refusals };
}

export function presentRefusal(sender: RefusedSender, publicUrl: string) {
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
