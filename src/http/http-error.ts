import type { Denied } from "../access/gate.ts";
import type { Scope } from "../access/scopes.ts";
import { catalogue, type ErrorKind } from "./error-catalogue.ts";
import { noHeaders, type ResponseHeaders } from "./response-head.ts";

/** A response other than the expected one; a handler may throw it from any depth. */
export class HttpError extends Error {
  override readonly name = "HttpError";
  readonly kind: ErrorKind;
  readonly headers: ResponseHeaders;

  constructor(
    kind: ErrorKind,
    message: string = catalogue[kind].example,
    headers: ResponseHeaders = noHeaders,
  ) {
    super(message);
    this.kind = kind;
    this.headers = headers;
  }
}

/** The error of a caller that has to wait before its next request. `limit` says which limit it has reached, in a sentence. */
export function overRateError(waitMs: number, limit = "This token is over its rate limit."): HttpError {
  const seconds = Math.ceil(waitMs / 1000);
  const message = `${limit} Try again in ${seconds} s.`;
  return new HttpError("over-rate", message, { "Retry-After": String(seconds) });
}

const withoutScheme =
  'The Authorization header must be Bearer <ACCESS_TOKEN>, but the word "Bearer" is missing before the token.';

/** The error of a caller that the gate does not accept for a scope, with RFC 6750's challenge to its credentials. */
export function deniedError(reason: Denied, scope: Scope, authorization?: string): HttpError {
  const realm = 'Bearer realm="plant-store"';
  switch (reason) {
    case "no-credentials":
      return new HttpError(reason, authorization && withoutScheme, { "WWW-Authenticate": realm });
    case "bad-credentials":
      return new HttpError(reason, undefined, { "WWW-Authenticate": `${realm}, error="invalid_token"` });
    case "lacks-scope":
      return new HttpError(reason, `The token lacks the scope ${scope}.`, {
        "WWW-Authenticate": `${realm}, error="insufficient_scope", scope="${scope}"`,
      });
    default:
      return new HttpError(reason);
  }
}

/** The body of a request did not arrive. A handler lets it pass: the client has its response, or has gone away. */
export class BodyNotReceived extends Error {
  override readonly name = "BodyNotReceived";
}
