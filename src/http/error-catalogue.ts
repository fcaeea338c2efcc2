import type { Denied } from "../access/gate.ts";
import type { Rejected } from "../plants/intake.ts";
import type { RefusalKind } from "../plants/refusals.ts";
import type { WireFault } from "./wire/wire-handlers.ts";

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
  | RefusalKind
  | Denied
  | Rejected
  | "no-such-path"
  | "no-such-method"
  | WireFault
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
    remedy: "Send a JSON object with id and name.",
    example: 'The body is empty. Send a JSON object such as {"id": 1, "name": "Fern"}.',
  },
  "not-json": {
    error: 40002,
    when: "the body is not JSON",
    remedy: "Fix the JSON at the line and column that the message names.",
    example: "The body is not JSON: at line 1, column 10, expected a value, but there is }.",
  },
  "not-text": {
    error: 40003,
    when: "the body is not UTF-8, or starts with a byte order mark, or a string holds a lone surrogate",
    remedy:
      "Encode the body as UTF-8 without a byte order mark, and escape no half of a surrogate pair alone.",
    example: "The body starts with a byte order mark (EF BB BF). Send plain UTF-8 without it.",
  },
  "not-an-object": {
    error: 40004,
    when: "the JSON is not an object",
    remedy: "Send one JSON object; a list of plants is a request each.",
    example: "The body must be a JSON object, but is an array.",
  },
  "name-repeated": {
    error: 40005,
    when: "a name appears twice in the object (after unescaping)",
    remedy: "Send each name once: the service does not guess which of two values is meant.",
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
    when: "a field has the wrong type (`tag: null` included)",
    remedy: "Send the type that the message names; leave tag out where there is none.",
    example: 'Field "id" must be an integer, but is the string "7".',
  },
  "not-int64": {
    error: 40012,
    when: "`id` is not a whole number, or is outside int64",
    remedy: "Send a whole number from -9223372036854775808 to 9223372036854775807.",
    example:
      'Field "id" must be a whole number from -9223372036854775808 to 9223372036854775807, but is 9223372036854775808.',
  },
  "holds-nul": {
    error: 40013,
    when: "`name` or `tag` holds U+0000, which PostgreSQL cannot store",
    remedy: "Remove the character; every other one is stored unchanged.",
    example: 'Field "name" holds the character U+0000, which cannot be stored.',
  },
  "id-conflict": {
    error: 40020,
    when: "`id` already belongs to a different plant",
    remedy: "Choose another id. The stored plant is unchanged, and its values are not disclosed.",
    example: "The id 7 already belongs to a plant with a different name.",
  },
  "not-http": {
    error: 40030,
    when: "what was sent is not HTTP/1.1 as RFC 9112 defines it",
    remedy: "Use an HTTP client that follows the RFC; the message says what was wrong.",
    example: "This is not an HTTP/1.1 request: the header host is missing.",
  },
  "wrong-parameter": {
    error: 40031,
    when: "a parameter or a field of an operator's request cannot be used",
    remedy: "Fix what the message names.",
    example: 'Parameter "limit" must be a whole number from 1 to 1000, but is "many".',
  },
  "no-credentials": {
    error: 40101,
    when: "no bearer credentials were sent",
    remedy: "Send the header Authorization: Bearer TOKEN; `plant-store token create` makes a token.",
    example: "Send a token in the header Authorization: Bearer <ACCESS_TOKEN>.",
  },
  "bad-credentials": {
    error: 40102,
    when: "the credentials are unknown, revoked, expired or malformed",
    remedy: "Send a live token, whole and in one header; which of the four it was is not disclosed.",
    example: "The token is not valid here.",
  },
  "lacks-scope": {
    error: 40301,
    when: "the token is good but lacks the scope",
    remedy: "Use a token that has the scope which the message names.",
    example: "The token lacks the scope plants:create.",
  },
  "no-such-path": {
    error: 40401,
    when: "there is no such path",
    remedy: "The one operation is POST /plants, under the base URL.",
    example: "There is nothing at /plant. The operation is POST /plants; /docs documents it.",
  },
  "no-such-plant": {
    error: 40402,
    when: "no plant has this id",
    remedy: "Check the id: a whole number, with its sign if it is negative.",
    example: "No plant has the id 7.",
  },
  "no-such-token": {
    error: 40403,
    when: "no token has this id",
    remedy: "List the tokens; each has an id.",
    example: "No token has the id a1b2c3d4.",
  },
  "no-such-method": {
    error: 40501,
    when: "there is no such method at that path",
    remedy: "Use a method that the Allow header lists.",
    example: "/plants does not support GET; it supports POST.",
  },
  "body-too-slow": {
    error: 40801,
    when: "the body did not arrive in time",
    remedy: "Send the body without pauses; nothing was stored, and sending it again is safe.",
    example: "The body did not arrive within 10 s.",
  },
  "stale-cursor": {
    error: 41001,
    when: "the cursor is of another store, or of this one before it was restored",
    remedy: "Compare what you have with this store; then start again with after=0.",
    example:
      "The cursor is of another store, or of this one before it was restored. Start again with after=0.",
  },
  "body-too-large": {
    error: 41301,
    when: "the body is over the limit",
    remedy: "Send a smaller plant, or have the operator raise --max-body-bytes.",
    example: "The body is over the limit of 65536 bytes.",
  },
  "wrong-media-type": {
    error: 41501,
    when: "the media type is not `application/json`, or its charset is not UTF-8",
    remedy: "Send the header Content-Type: application/json.",
    example: "The Content-Type must be application/json, but is text/plain.",
  },
  "encoded-body": {
    error: 41502,
    when: "the body has a Content-Encoding",
    remedy: "Send the body as it is, without compression.",
    example: "The body must be sent without a Content-Encoding.",
  },
  "wrong-host": {
    error: 42101,
    when: "the Host header names a host that the operator listener does not answer to",
    remedy:
      "Call it by its IP address, by localhost, or by a name given in --operator-listen or --operator-hosts. Other names are refused, so that no page in a browser can reach it by DNS rebinding.",
    example: "The operator listener does not answer to the name example.org.",
  },
  "over-rate": {
    error: 42901,
    when: "this token is over its rate limit",
    remedy: "Wait as long as Retry-After says.",
    example: "This token is over its rate limit. Try again in 1 s.",
  },
  "head-too-large": {
    error: 43101,
    when: "the request's line and headers are over the limit of 16 KiB, or there are more than 100 headers",
    remedy: "Send fewer or shorter headers.",
    example: "The request's line and headers are over the limit of 16384 bytes.",
  },
  "internal-error": {
    error: 50001,
    when: "an internal error",
    remedy:
      "Give the operator the X-Request-Id; the log has the details under it. Sending the plant again is safe.",
    example: "Internal error. The log has the details under this request's id.",
  },
  "too-busy": {
    error: 50301,
    when: "too much work is pending",
    remedy: "Send it again later; that is always safe.",
    example: "Too many plants are waiting to be written. Send it again in a moment; that is safe.",
  },
  "store-unavailable": {
    error: 50302,
    when: "the store cannot be reached or written",
    remedy: "Send it again later; that is always safe. The operator finds the reason in the log.",
    example: "The store cannot be written right now. Send it again in a moment; that is safe.",
  },
  closing: {
    error: 50303,
    when: "the service is shutting down",
    remedy: "Send it again, to another node or after the restart; that is always safe.",
    example: "The service is shutting down. Send it again in a moment; that is safe.",
  },
  "issuer-unavailable": {
    error: 50304,
    when: "the identity provider's keys are not known, so its tokens cannot be verified",
    remedy: "Send it again later; that is always safe. The operator finds the reason in the log.",
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
