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
export function overRate(waitMs: number, limit = "This token is over its rate limit."): HttpError {
  const seconds = Math.ceil(waitMs / 1000);
  const message = `${limit} Try again in ${seconds} s.`;
  return new HttpError("over-rate", message, { "Retry-After": String(seconds) });
}

/** The challenge to credentials that the gate does not accept for a scope (RFC 6750, 3). */
export function bearerChallenge(
  reason: "no-credentials" | "bad-credentials" | "lacks-scope",
  scope: Scope,
): ResponseHeaders {
  const details = {
    "no-credentials": "",
    "bad-credentials": ', error="invalid_token"',
    "lacks-scope": `, error="insufficient_scope", scope="${scope}"`,
  };
  return { "WWW-Authenticate": `Bearer realm="plant-store"${details[reason]}` };
}

/** The body of a request did not arrive. A handler lets it pass: the client has its response, or has gone away. */
export class BodyNotReceived extends Error {
  override readonly name = "BodyNotReceived";
}
