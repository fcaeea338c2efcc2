import { catalogue, type ErrorKind } from "./error-catalogue.ts";

/** A response other than the expected one; a handler may throw it from any depth. */
export class HttpError extends Error {
  override readonly name = "HttpError";
  readonly kind: ErrorKind;
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    kind: ErrorKind,
    message: string = catalogue[kind].example,
    headers: Readonly<Record<string, string>> = {},
  ) {
    super(message);
    this.kind = kind;
    this.headers = headers;
  }
}

/** The body of a request did not arrive. A handler lets it pass: the client has its response, or has gone away. */
export class BodyNotReceived extends Error {
  override readonly name = "BodyNotReceived";
}
