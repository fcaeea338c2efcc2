import type { Denied } from "../access/gate.ts";
import type { Scope } from "../access/scopes.ts";
import { shortened } from "../text/cut-text.ts";
import { catalogue, type ErrorKind } from "./error-catalogue.ts";
import { noHeaders, type ResponseHeaders } from "./response-head.ts";

// Longer than any name that someone chose, and short enough for a line of the log.
const quotedCharactersMax = 100;

/** Why a request is refused. A handler may throw it from any depth; `refuse` makes the response of it. */
export class Refusal {
  readonly kind: ErrorKind;
  /** Worded for the sender. What it repeats of the request is `quoted`. */
  readonly message: string;
  readonly headers: ResponseHeaders;

  constructor(
    kind: ErrorKind,
    message: string = catalogue[kind].example,
    headers: ResponseHeaders = noHeaders,
  ) {
    this.kind = kind;
    this.message = message;
    this.headers = headers;
  }
}

/** What a message repeats of a request: the beginning of it, if it is long. */
export function quoted(sent: string): string {
  return shortened(sent, quotedCharactersMax);
}

/** The refusal of a caller that has to wait before its next request. `limit` says which limit it has reached, in a sentence. */
export function overRate(waitMs: number, limit = "This token is over its rate limit."): Refusal {
  const seconds = Math.ceil(waitMs / 1000);
  return new Refusal("over-rate", `${limit} Try again in ${seconds} s.`, { "Retry-After": String(seconds) });
}

const withoutScheme =
  'The Authorization header must be Bearer <ACCESS_TOKEN>, but the word "Bearer" is missing before the token.';

/** The refusal of a caller that the gate does not accept for a scope, with RFC 6750's challenge to its credentials. */
export function denial(reason: Denied | "lacks-scope", scope: Scope, authorization?: string): Refusal {
  const realm = 'Bearer realm="plant-store"';
  switch (reason) {
    case "no-credentials":
      return new Refusal(reason, authorization && withoutScheme, { "WWW-Authenticate": realm });
    case "bad-credentials":
      return new Refusal(reason, undefined, { "WWW-Authenticate": `${realm}, error="invalid_token"` });
    case "lacks-scope":
      return new Refusal(reason, `The token lacks the scope ${scope}.`, {
        "WWW-Authenticate": `${realm}, error="insufficient_scope", scope="${scope}"`,
      });
    default:
      return new Refusal(reason);
  }
}
