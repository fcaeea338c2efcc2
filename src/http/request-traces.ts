import type { Span } from "../telemetry/tracing/span.ts";
import type { Tracer } from "../telemetry/tracing/tracer.ts";
import type { Exchange } from "./exchange.ts";
import { requestFields } from "./request-fields.ts";
import type { Head } from "./wire/head.ts";
import type { ResponseConnection } from "./wire/wire-handlers.ts";

export interface TracedListener {
  readonly host: string;
  readonly port: () => number;
  readonly secure: boolean;
  /** The route of a path, with its parameters as names. */
  readonly routeOf: (path: string) => string | undefined;
}

/** The spans of a listener's requests. */
export class RequestTraces {
  readonly #tracer: Tracer;
  readonly #listener: TracedListener;
  /** Only of sampled requests. */
  readonly #last = new WeakMap<ResponseConnection, Span>();

  constructor(tracer: Tracer, listener: TracedListener) {
    this.#tracer = tracer;
    this.#listener = listener;
  }

  start(connection: ResponseConnection, head: Head | undefined): Span | undefined {
    const span = this.#tracer.startRequest(head?.header("traceparent"));
    if (span !== undefined) this.#last.set(connection, span);
    return span;
  }

  /** The span of the request that the connection is reading, if it has one; its body came too late, for example. */
  resume(connection: ResponseConnection, head: Head | undefined): Span | undefined {
    const last = this.#last.get(connection);
    return last?.ended === false ? last : this.start(connection, head);
  }

  end(span: Span, exchange: Exchange, status: number, error?: number): void {
    const { host, port, secure, routeOf } = this.#listener;
    const fields = requestFields(exchange, { status, error });
    const route = exchange.head && routeOf(exchange.head.path);
    const method = fields["http.request.method"];
    span.end({
      name: `${method === undefined || method === "_OTHER" ? "HTTP" : method}${route === undefined ? "" : ` ${route}`}`,
      attributes: {
        ...fields,
        // The span has these itself.
        trace_id: undefined,
        span_id: undefined,
        trace_flags: undefined,
        "http.route": route,
        "url.scheme": secure ? "https" : "http",
        "server.address": host,
        "server.port": port(),
      },
      failed: status >= 500,
    });
  }
}
