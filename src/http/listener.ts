import type { Gate } from "../access/gate.ts";
import { StoreUnavailable } from "../plants/plant-store.ts";
import { Refusal } from "../plants/refusals.ts";
import type { Events } from "../telemetry/events.ts";
import { ClientAddresses, isLoopback } from "./client-address.ts";
import { Cors } from "./cors.ts";
import { catalogue } from "./error-catalogue.ts";
import { Exchange, type ListenerState } from "./exchange.ts";
import { BodyNotReceived, HttpError } from "./http-error.ts";
import { type Bound, formatAddress, listenProblem } from "./listen-address.ts";
import { requestFields, requestIds } from "./request-fields.ts";
import { RequestIds } from "./request-ids.ts";
import { ResponseDate } from "./response-date.ts";
import type { Route } from "./route.ts";
import { Router, type RouterOptions } from "./router.ts";
import { OpenStreams } from "./streaming.ts";
import { readTlsFiles, type TlsPaths } from "./tls-files.ts";
import type { Head } from "./wire/head.ts";
import type { ResponseConnection, WireFault, WireHandlers } from "./wire/wire-handlers.ts";
import { WireServer, type WireServerOptions } from "./wire/wire-server.ts";

export interface ListenerOptions extends RouterOptions {
  /** Which of the two, for metrics. */
  readonly name: "public" | "operator";
  readonly host: string;
  readonly port: number;
  /** What the operator can do if another process listens there. */
  readonly inUseRemedy: string;
  readonly bodyBytesMax: number;
  readonly bodyTimeoutMs: number;
  readonly logRequests: "all" | "errors" | "none";
  /** Addresses and CIDR ranges of the proxies whose X-Forwarded-For is read. */
  readonly trustedProxies: readonly string[];
  /** Whose pages may call it from a browser; `*` for every origin's. */
  readonly corsOrigins: readonly string[];
  /** Undefined for plain text. */
  readonly tls: TlsPaths | undefined;
  /** How many connections it may have open. */
  readonly connectionsMax: number;
}

export interface Listener extends Bound {
  /** As `HOST:PORT`. */
  readonly address: string;
  /** Accepts no new connection, aborts streams, responds to what was sent, and closes what is left after the timeout. */
  drain(timeoutMs: number): Promise<void>;
}

export interface ListenerParts {
  readonly gate: Gate;
  readonly events: Events;
}

/** The checks that come before a request's path. */
type Precondition = (exchange: Exchange) => void;

/**
 * Serves a table of routes over HTTP/1.1.
 * @throws ListenProblem the address cannot be listened on.
 * @throws TlsProblem its certificate or key cannot be used.
 */
export function startListener<Parts>(
  routes: readonly Route<Parts>[],
  parts: Parts,
  { gate, events }: ListenerParts,
  options: ListenerOptions,
  precondition: Precondition = () => {},
): Listener {
  const router = new Router(routes, parts, gate, options);
  const state = listenerState(events, options, router);
  const handlers: WireHandlers = {
    handle(connection, head) {
      const exchange = new Exchange(connection, head, state);
      try {
        precondition(exchange);
        const preflight = state.cors?.preflightHeaders(head);
        if (preflight !== undefined) return exchange.respond("text/plain", "", preflight);
        router
          .route(exchange, head.path, head.method)
          ?.catch((error) => respondToError(exchange, error, events))
          // An unhandled rejection would end the process.
          .catch((error) => {
            events.internalError(() => requestIds(exchange), error);
            connection.close();
          });
      } catch (error) {
        respondToError(exchange, error, events);
      }
    },
    fault(connection, fault, reason, head) {
      untimed(connection, head, state).error(fault, faultMessage(fault, reason, options));
    },
    crash(connection, error, head) {
      respondToError(untimed(connection, head, state), error, events);
    },
  };
  const tls = options.tls && readTlsFiles(options.tls);
  const server = listen({ ...options, tls }, handlers, events);
  events.connections(options.name, 0);
  const bound = { host: options.host, port: server.port, secure: tls !== undefined };
  return {
    ...bound,
    address: formatAddress(bound),
    async drain(timeoutMs) {
      state.streams.drain();
      if (!(await server.drain(timeoutMs))) events.drainTimedOut();
    },
  };
}

/** Tokens travel in every request. */
export function warnOfPlainText({ secure, host, address }: Listener, events: Events): void {
  if (!secure && !isLoopback(host)) events.plainText(address);
}

function listen(
  options: WireServerOptions & Pick<ListenerOptions, "name" | "inUseRemedy">,
  handlers: WireHandlers,
  events: Pick<Events, "connectionLimitReached" | "connections">,
): WireServer {
  const onConnections = (open: number): void => events.connections(options.name, open);
  try {
    return new WireServer(
      { ...options, onLimitReached: events.connectionLimitReached, onConnections },
      handlers,
    );
  } catch (error) {
    throw listenProblem(error, options.host, options.port, options.inUseRemedy);
  }
}

function listenerState(
  events: Events,
  options: ListenerOptions,
  router: Pick<Router<unknown>, "checkAgain" | "loggedPath">,
): ListenerState {
  const { name, logRequests } = options;
  return {
    isStillAdmitted: (exchange) => router.checkAgain(exchange),
    loggedPath: (path) => router.loggedPath(path),
    addresses: new ClientAddresses(options.trustedProxies),
    cors: options.corsOrigins.length === 0 ? undefined : new Cors(options.corsOrigins),
    date: new ResponseDate(),
    requestIds: new RequestIds(),
    streams: new OpenStreams(),
    onResponse: name === "public" ? events.responded : undefined,
    onError(exchange, status, error) {
      events.errorSent(name, error);
      if (logRequests === "none") return;
      const log = status >= 500 ? events.failed : events.refused;
      log(() => requestFields(exchange, { status, error }));
    },
    onSuccess:
      logRequests !== "all"
        ? undefined
        : (exchange, status) =>
            events.answered(
              requestFields(exchange, { status, tookMs: performance.now() - exchange.startedMs }),
            ),
  };
}

/** The second exchange for a request, or one for what is not a request: its start time is not known. */
function untimed(connection: ResponseConnection, head: Head | undefined, state: ListenerState): Exchange {
  const exchange = new Exchange(connection, head, state);
  exchange.outcome = undefined;
  return exchange;
}

function respondToError(exchange: Exchange, error: unknown, events: Events): void {
  if (error instanceof BodyNotReceived) return;
  if (error instanceof HttpError) return exchange.error(error.kind, error.message, error.headers);
  if (error instanceof Refusal) return exchange.error(error.kind, error.message);
  if (error instanceof StoreUnavailable)
    return exchange.error("store-unavailable", "The store cannot be reached right now.");
  events.internalError(() => requestIds(exchange), error);
  // The failure may have left the connection in the middle of a request.
  exchange.closeAfterResponse();
  exchange.error("internal-error");
}

function faultMessage(fault: WireFault, reason: string, { bodyTimeoutMs }: ListenerOptions): string {
  if (fault === "body-too-large") return `The body is over the limit of ${reason} bytes.`;
  if (fault === "body-too-slow") return `The body did not arrive within ${bodyTimeoutMs / 1000} s.`;
  if (fault === "not-http") return `The request is not valid HTTP/1.1: ${reason}.`;
  return reason || catalogue[fault].example;
}
