import type { Denied } from "../access/gate.ts";
import { int64Range } from "../plants/int64.ts";
import type { Rejected } from "../plants/intake.ts";
import type { PlantRefusalKind } from "../plants/refusals.ts";
import type { RequestOutcome } from "../telemetry/metrics.ts";
import type { WireFaultKind } from "./wire/wire-fault.ts";

export interface CatalogueEntry {
  /** HTTP status × 100 + a number, so that it explains itself. */
  readonly error: number;
  readonly when: string;
  readonly remedy: string;
  /** A message as a client would get it. */
  readonly example: string;
}

// Only the operator listener responds with these.
const operatorKinds = [
  "wrong-parameter",
  "no-such-plant",
  "no-such-token",
  "stale-cursor",
  "wrong-host",
] as const;

export type ErrorKind =
  | PlantRefusalKind
  | Denied
  | "lacks-scope"
  | Rejected["kind"]
  | "no-such-path"
  | "no-such-method"
  | WireFaultKind
  | "wrong-media-type"
  | "encoded-body"
  | "over-rate"
  | "internal-error"
  | (typeof operatorKinds)[number];

/** Every error. Responses and the docs page come from here; tests compare docs/errors.md and openapi.json with it. */
export const catalogue: Readonly<Record<ErrorKind, CatalogueEntry>> = {
  "body-empty": {
    error: 40001,
    when: "the body is empty",
    remedy: "Send a JSON object with `id` and `name`.",
    example: 'The body is empty. Send a JSON object such as {"id": 1, "name": "Fern"}.',
  },
  "not-json": {
    error: 40002,
    when: "the body is not valid JSON",
    remedy: "Fix the JSON at the line and column that the message names.",
    example: "The body is not valid JSON: at line 1, column 10, expected a value but found }.",
  },
  "not-text": {
    error: 40003,
    when: "the body is not UTF-8, starts with a byte order mark, or contains an unpaired surrogate",
    remedy: "Encode the body as UTF-8 without a byte order mark, and do not escape an unpaired surrogate.",
    example: "The body starts with a byte order mark (EF BB BF). Send UTF-8 without it.",
  },
  "not-an-object": {
    error: 40004,
    when: "the body is JSON but not an object",
    remedy: "Send one plant per request, as a JSON object.",
    example: "The body must be a JSON object, but is an array.",
  },
  "name-repeated": {
    error: 40005,
    when: "a name appears more than once in the object, after unescaping",
    remedy: "Send each name once. The service does not guess which value you meant.",
    example: 'The name "id" appears more than once in the object.',
  },
  "field-missing": {
    error: 40010,
    when: "a required field is missing",
    remedy: "Send the field that the message names.",
    example: 'Field "name" is missing; expected a string.',
  },
  "wrong-type": {
    error: 40011,
    when: "a field has the wrong type; this includes `tag: null`",
    remedy: "Send the type that the message names. If the plant has no tag, omit `tag`.",
    example: 'Field "id" must be an integer, but is the string "7".',
  },
  "not-int64": {
    error: 40012,
    when: "`id` is not an integer, or is outside the int64 range",
    remedy: `Send an integer from ${int64Range}.`,
    example: `Field "id" must be an integer from ${int64Range}, but is 9223372036854775808.`,
  },
  "holds-nul": {
    error: 40013,
    when: "`name` or `tag` contains U+0000, which PostgreSQL cannot store",
    remedy: "Remove the character. Every other character is stored unchanged.",
    example: 'Field "name" contains the character U+0000, which cannot be stored.',
  },
  "id-conflict": {
    error: 40020,
    when: "`id` already belongs to a different plant",
    remedy: "Choose another id. The stored plant is unchanged, and its values are not disclosed.",
    example: "The id 7 already belongs to a plant with a different name.",
  },
  "not-http": {
    error: 40030,
    when: "the request is not valid HTTP/1.1 (RFC 9112)",
    remedy: "Use an HTTP client that follows the RFC. The message says what is wrong.",
    example: "The request is not valid HTTP/1.1: the host header is missing.",
  },
  "wrong-parameter": {
    error: 40031,
    when: "a parameter or field of an operator request is not valid",
    remedy: "Fix the parameter or field that the message names.",
    example: 'Parameter "limit" must be an integer from 1 to 1000, but is "many".',
  },
  "no-credentials": {
    error: 40101,
    when: "the request has no bearer token",
    remedy: "Send the header `Authorization: Bearer TOKEN`. `plant-store token create` creates a token.",
    example: "Send a token in the header Authorization: Bearer <ACCESS_TOKEN>.",
  },
  "bad-credentials": {
    error: 40102,
    when: "the token is unknown, revoked, expired or malformed",
    remedy: "Check that the token is complete and valid.",
    example: "The token is not valid.",
  },
  "lacks-scope": {
    error: 40301,
    when: "the token is valid but lacks the required scope",
    remedy: "Use a token with the scope that the message names.",
    example: "The token lacks the scope plants:create.",
  },
  "no-such-path": {
    error: 40401,
    when: "the path does not exist, or the backup or the download link that it names",
    remedy:
      "Check the path. The only operation of the public listener is `POST /plants`, under the base URL.",
    example: "There is nothing at /plant. The only operation is POST /plants; see /docs.",
  },
  "no-such-plant": {
    error: 40402,
    when: "no plant has this id",
    remedy: "Check the id, including the minus sign of a negative one.",
    example: "No plant has the id 7.",
  },
  "no-such-token": {
    error: 40403,
    when: "no token has this id",
    remedy: "List the tokens to find the right id.",
    example: "No token has the id a1b2c3d4.",
  },
  "no-such-method": {
    error: 40501,
    when: "the path does not support the method",
    remedy: "Use a method that the `Allow` header lists.",
    example: "/plants does not support GET; it supports POST.",
  },
  "body-too-slow": {
    error: 40801,
    when: "the body did not arrive in time",
    remedy: "Send it again, without pauses in the body. Nothing was stored.",
    example: "The body did not arrive within 10 s.",
  },
  "stale-cursor": {
    error: 41001,
    when: "the cursor belongs to another store, or to this one before it was restored",
    remedy: "Compare your copy with this store, then start again with `after=0`.",
    example:
      "The cursor belongs to another store, or to this one before it was restored. Start again with after=0.",
  },
  "body-too-large": {
    error: 41301,
    when: "the body is larger than the limit",
    remedy: "Send a smaller plant, or ask the operator to raise `--max-body-bytes`.",
    example: "The body is over the limit of 65536 bytes.",
  },
  "wrong-media-type": {
    error: 41501,
    when: "the media type is not `application/json`, or its charset is not UTF-8",
    remedy: "Send the header `Content-Type: application/json`.",
    example: "The Content-Type must be application/json, but is text/plain.",
  },
  "encoded-body": {
    error: 41502,
    when: "the request has a `Content-Encoding` header",
    remedy: "Send the body uncompressed and omit the header.",
    example: "The request must not have a Content-Encoding header.",
  },
  "expectation-failed": {
    error: 41701,
    when: "the request has an `Expect` header other than `100-continue`",
    remedy: "Omit the header, or send `Expect: 100-continue`.",
    example: "The Expect header must be 100-continue, but is 200-ok.",
  },
  "wrong-host": {
    error: 42101,
    when: "the `Host` header names a host that the operator listener does not accept",
    remedy:
      "Use its IP address, `localhost`, or a name from `--operator-listen` or `--operator-hosts`. Other names are refused to prevent DNS rebinding, by which a web page could reach it.",
    example: "The operator listener does not accept the host name example.org.",
  },
  "over-rate": {
    error: 42901,
    when: "the token is over its rate limit, or over that of actions that the audit trail records",
    remedy: "Wait for the number of seconds in `Retry-After`, then send it again.",
    example: "This token is over its rate limit. Try again in 1 s.",
  },
  "head-too-large": {
    error: 43101,
    when: "the request line and headers are larger than 16 KiB, or there are more than 100 headers",
    remedy: "Send fewer or shorter headers.",
    example: "The request line and headers are over the limit of 16384 bytes.",
  },
  "internal-error": {
    error: 50001,
    when: "an internal error occurred",
    remedy:
      "Send it again; that is safe. If it keeps failing, give the operator the `X-Request-Id`, under which the log has the details.",
    example: "Internal error. The log has the details under the request id.",
  },
  "too-busy": {
    error: 50301,
    when: "too many plants are waiting to be written, or too many requests of one operator",
    remedy: "Send it again in a moment. That is always safe.",
    example: "Too many plants are waiting to be written. Send it again in a moment; that is safe.",
  },
  "store-unavailable": {
    error: 50302,
    when: "the store cannot be reached or written to",
    remedy: "Send it again later. That is always safe. The reason is in the service's log.",
    example: "The store cannot be written to right now. Send it again in a moment; that is safe.",
  },
  closing: {
    error: 50303,
    when: "the service is shutting down",
    remedy: "Send it again, to another node or after the restart. That is always safe.",
    example: "The service is shutting down. Send it again in a moment; that is safe.",
  },
  "issuer-unavailable": {
    error: 50304,
    when: "the identity provider's keys are not available, so its tokens cannot be verified",
    remedy: "Send it again later. That is always safe. The reason is in the service's log.",
    example: "The identity provider cannot be reached right now. Send it again in a moment; that is safe.",
  },
};

/** What the public listener responds with. */
export const publicKinds = (Object.keys(catalogue) as ErrorKind[]).filter(
  (kind) => !operatorKinds.some((other) => other === kind),
);

export function statusOf(kind: ErrorKind): number {
  return Math.floor(catalogue[kind].error / 100);
}

/** What the console shows of an error's message: not the path or the host that it quotes, either of which may hold a secret. */
export function recordedMessage(kind: ErrorKind, message: string): string {
  if (kind === "wrong-host") return "host not recorded";
  return kind === "no-such-path" || kind === "no-such-method" ? "path not recorded" : message;
}

/** The outcome by which the duration of a request with this error is counted. */
export function outcomeOf(kind: ErrorKind): RequestOutcome {
  if (kind === "id-conflict") return "conflict";
  if (kind === "too-busy") return "busy";
  const status = statusOf(kind);
  if (status === 401 || status === 403) return "denied";
  if (status === 429) return "rate_limited";
  if (status === 503) return "unavailable";
  return status < 500 ? "invalid" : "failed";
}
