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
