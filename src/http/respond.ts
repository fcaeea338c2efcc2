import type { Plant } from "../plants/plant.ts";
import { catalogue, type ErrorKind, statusOf } from "./error-catalogue.ts";

const jsonType = "application/json";
const common = { "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff" } as const;

/** Hears of every error answer, with the request that it is for. */
export type OnError = (request: Request, requestId: string, status: number, error: number) => void;

export type RouteHandler = (request: Request, respond: Respond) => Response | Promise<Response>;

/** What all responses of a listener share. */
export class Responses {
  // A Response copies the headers it is given, so one object serves all plants: only the request's id changes.
  readonly created = new Headers({ "Content-Type": jsonType, ...common });
  readonly replayed = new Headers({ "Content-Type": jsonType, ...common, "Idempotent-Replayed": "true" });
  readonly onError: OnError;

  constructor(onError: OnError) {
    this.onError = onError;
  }
}

/** Answers one request. Every response is built here, so none leaves without the headers that all must carry. */
export class Respond {
  readonly #responses: Responses;
  readonly #request: Request;
  readonly requestId: string;

  constructor(responses: Responses, request: Request, requestId: string) {
    this.#responses = responses;
    this.#request = request;
    this.requestId = requestId;
  }

  plant({ name, tag }: Plant, replayed: boolean): Response {
    const headers = replayed ? this.#responses.replayed : this.#responses.created;
    headers.set("X-Request-Id", this.requestId);
    return new Response(JSON.stringify({ name, tag }), { headers });
  }

  /** The message is the catalogue's own where none is given. */
  error(kind: ErrorKind, message = catalogue[kind].example, headers: Record<string, string> = {}): Response {
    const { error } = catalogue[kind];
    const status = statusOf(kind);
    this.#responses.onError(this.#request, this.requestId, status, error);
    return this.#send(JSON.stringify({ error, message }), status, { "Content-Type": jsonType, ...headers });
  }

  page(contentType: string, body: string, headers: Record<string, string> = {}): Response {
    return this.#send(body, 200, { "Content-Type": contentType, ...headers });
  }

  #send(body: string, status: number, headers: Record<string, string>): Response {
    return new Response(body, { status, headers: { ...common, ...headers, "X-Request-Id": this.requestId } });
  }
}
