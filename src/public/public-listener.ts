import type { Gate } from "../access/gate.ts";
import type { RateLimit } from "../access/rate-limit.ts";
import { catalogue } from "../http/error-catalogue.ts";
import { Clock, Exchange, type Handler, type Listening, RequestIds } from "../http/exchange.ts";
import { live, ready } from "../http/health.ts";
import { ListenProblem, publicUrl } from "../http/listen-address.ts";
import type { WireFault, WireHandlers } from "../http/wire/wire-handlers.ts";
import { type ClosedAtLimit, WireServer } from "../http/wire/wire-server.ts";
import type { PlantIntake } from "../plants/intake.ts";
import type { Events } from "../telemetry/events.ts";
import { createPlant } from "./create-plant.ts";
import { docsPage } from "./docs-page.ts";
import { openapi } from "./openapi.ts";

export interface PublicListenerParts {
  readonly gate: Gate;
  readonly rateLimit: RateLimit | undefined;
  readonly intake: PlantIntake;
  readonly events: Events;
}

export interface PublicListenerOptions {
  readonly host: string;
  readonly port: number;
  readonly baseUrl: URL | undefined;
  readonly bodyBytesMax: number;
  readonly bodyTimeoutMs: number;
  readonly logRequests: "all" | "errors" | "none";
  /** Whether other threads listen on the same port, each taking its share of the connections. */
  readonly sharePort: boolean;
  /** How many connections this thread may have open. */
  readonly connectionsMax: number;
}

export interface PublicListener {
  /** Where clients reach it, without a slash at the end. */
  readonly url: string;
  /** Where this machine itself reaches the operation, whatever stands between it and the clients. */
  readonly plantsUrl: string;
  readonly port: number;
  /** Answers `readyz` with 503 from now on, and all else as before. */
  goUnready(): void;
  /** Accepts no new connection, answers what was sent on those there are, and cuts off what is left after the timeout. */
  drain(timeoutMs: number): Promise<void>;
}

export function startPublicListener(
  parts: PublicListenerParts,
  options: PublicListenerOptions,
): PublicListener {
  const { intake, events } = parts;
  const basePath = options.baseUrl?.pathname.replace(/\/+$/, "") ?? "";
  let stopping = false;

  const routes: Record<string, Record<string, Handler>> = {
    "/plants": { POST: createPlant(parts) },
    "/openapi.json": { GET: openapi(() => url) },
    "/docs": { GET: docsPage(() => url) },
    "/livez": { GET: live },
    "/readyz": { GET: ready(intake, () => stopping) },
  };
  // Maps, because a request may name any method, also one that every object has, such as `constructor`.
  const table = new Map(
    Object.entries(routes).map(([path, methods]) => [basePath + path, new Map(Object.entries(methods))]),
  );

  // The order of checks: path, method, and then the route's own.
  const dispatch = (exchange: Exchange, path: string, method: string): void => {
    const methods = table.get(path);
    if (methods === undefined) return noSuchPath(exchange, path, basePath);
    const handler = methods.get(method) ?? (method === "HEAD" ? methods.get("GET") : undefined);
    if (handler === undefined) return noSuchMethod(exchange, path, method, [...methods.keys()]);
    handler(exchange);
  };

  const listening: Listening = {
    clock: new Clock(),
    requestIds: new RequestIds(),
    refused(exchange, status, error) {
      events.errorSent(error);
      if (options.logRequests === "none") return;
      const tell = status >= 500 ? events.failed : events.refused;
      tell({ ...told(exchange), status, error });
    },
    answered:
      options.logRequests !== "all"
        ? undefined
        : (exchange, status) =>
            events.answered({ ...told(exchange), status, tookMs: performance.now() - exchange.startedMs }),
  };
  const handlers: WireHandlers = {
    handle(connection, head) {
      dispatch(new Exchange(connection, head, listening), head.path, head.method);
    },
    fault(connection, fault, reason, head) {
      new Exchange(connection, head, listening).error(fault, faultMessage(fault, reason, options));
    },
    crash(connection, error, head) {
      const exchange = new Exchange(connection, head, listening);
      events.internalError(exchange.requestId, error);
      exchange.error("internal-error");
    },
  };
  const server = listen(options, handlers, events.connectionLimitReached);
  const url = publicUrl(options.baseUrl, options.host, server.port);

  return {
    url,
    plantsUrl: `${publicUrl(undefined, options.host, server.port)}${basePath}/plants`,
    port: server.port,
    goUnready() {
      stopping = true;
    },
    async drain(timeoutMs) {
      stopping = true;
      if (!(await server.drain(timeoutMs))) events.drainTimedOut();
    },
  };
}

function listen(
  options: PublicListenerOptions,
  handlers: WireHandlers,
  onLimitReached: (closed: ClosedAtLimit) => void,
): WireServer {
  try {
    return new WireServer({ ...options, onLimitReached }, handlers);
  } catch (error) {
    const address = `${options.host}:${options.port}`;
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === "EADDRINUSE") {
      throw new ListenProblem(
        `${address} is taken by another process; stop it, or choose another --listen address.`,
      );
    }
    throw new ListenProblem(`${address} cannot be listened on: ${message}.`);
  }
}

/**
 * Makes sure that nobody is there yet: a port that workers share could be shared with another service by mistake.
 * @throws ListenProblem
 */
export async function claimPort(options: PublicListenerOptions): Promise<void> {
  const nobody = { handle() {}, fault() {}, crash() {} };
  await listen({ ...options, sharePort: false }, nobody, () => {}).drain(0);
}

function faultMessage(
  fault: WireFault,
  reason: string,
  { bodyBytesMax, bodyTimeoutMs }: PublicListenerOptions,
): string {
  if (fault === "body-too-large") return `The body is over the limit of ${bodyBytesMax} bytes.`;
  if (fault === "body-too-slow") return `The body did not arrive within ${bodyTimeoutMs / 1000} s.`;
  if (fault === "not-http") return `This is not an HTTP/1.1 request: ${reason}.`;
  return reason || catalogue[fault].example;
}

function told({ requestId, head }: Exchange) {
  return { requestId, method: (head?.method ?? "-").slice(0, 20), path: (head?.path ?? "-").slice(0, 200) };
}

function noSuchPath(exchange: Exchange, path: string, basePath: string): void {
  exchange.error(
    "no-such-path",
    `There is nothing at ${path.slice(0, 100)}. The operation is POST ${basePath}/plants.`,
  );
}

function noSuchMethod(exchange: Exchange, path: string, method: string, methods: readonly string[]): void {
  const allowed = methods.flatMap((name) => (name === "GET" ? ["GET", "HEAD"] : [name])).join(", ");
  const message = `${path} does not take ${method.slice(0, 20)}; it takes ${allowed}.`;
  exchange.error("no-such-method", message, { Allow: allowed });
}
