import type { Gate } from "../access/gate.ts";
import type { RateLimit } from "../access/rate-limit.ts";
import type { Intake } from "../plants/intake.ts";
import type { Events } from "../telemetry/events.ts";
import { BodyReader } from "./body-reader.ts";
import { createPlant } from "./create-plant.ts";
import { docsPage } from "./docs-page.ts";
import { live, ready } from "./health.ts";
import { describeApi } from "./openapi.ts";
import { pathOf, requestIdOf } from "./request.ts";
import { Respond, Responses, type RouteHandler } from "./respond.ts";

/** The address cannot be listened on, in one sentence for the operator. */
export class ListenProblem extends Error {
  override readonly name = "ListenProblem";
}

export interface PublicListenerParts {
  readonly gate: Gate;
  readonly rateLimit: RateLimit | undefined;
  readonly intake: Intake;
  readonly events: Events;
}

export interface PublicListenerOptions {
  readonly host: string;
  readonly port: number;
  readonly baseUrl: URL | undefined;
  readonly bodyBytesMax: number;
  readonly bodyTimeoutMs: number;
  readonly logRequests: "all" | "errors" | "none";
}

export interface PublicListener {
  /** Where clients reach it, without a slash at the end. */
  readonly url: string;
  /** Answers `readyz` with 503 from now on, and all else as before. */
  goUnready(): void;
  /** Takes no new request, waits for those in flight, and cuts off what is left after the timeout. */
  drain(timeoutMs: number): Promise<void>;
}

// Bun closes connections silent for longer than this. Our own deadline for bodies is always shorter.
const idleSeconds = 255;
const drainLookEveryMs = 5;

export function startPublicListener(
  parts: PublicListenerParts,
  options: PublicListenerOptions,
): PublicListener {
  const { intake, events } = parts;
  const bodies = new BodyReader({ bytesMax: options.bodyBytesMax, timeoutMs: options.bodyTimeoutMs });
  const basePath = options.baseUrl?.pathname.replace(/\/+$/, "") ?? "";
  const responses = new Responses((request, requestId, status, error) => {
    if (options.logRequests === "none") return;
    events.refused({ requestId, method: request.method, path: pathOf(request), status, error });
  });
  let state: "serving" | "unready" | "draining" = "serving";

  const routes: Record<string, Record<string, RouteHandler>> = {
    "/plants": { POST: createPlant({ ...parts, ...options, bodies }) },
    "/openapi.json": { GET: (_, respond) => respond.page("application/json", describeApi(url)) },
    "/docs": { GET: docsPage(() => url) },
    "/livez": { GET: live },
    "/readyz": { GET: ready(intake, () => state !== "serving") },
  };
  const table = new Map(Object.entries(routes).map(([path, methods]) => [basePath + path, methods]));

  // The order of checks: path, method, and then the route's own.
  const dispatch: RouteHandler = (request, respond) => {
    const path = pathOf(request);
    const methods = table.get(path);
    if (methods === undefined) return noSuchPath(respond, path, basePath);
    const handler = methods[request.method] ?? (request.method === "HEAD" ? methods["GET"] : undefined);
    if (handler === undefined) return noSuchMethod(respond, path, request.method, Object.keys(methods));
    if (state === "draining" && handler !== live)
      return respond.error("closing", undefined, { "Retry-After": "1", Connection: "close" });
    return handler(request, respond);
  };
  const answer = options.logRequests === "all" ? timed(dispatch, events) : dispatch;

  const server = listen({
    hostname: options.host,
    port: options.port,
    development: false,
    idleTimeout: idleSeconds,
    // The route refuses large bodies itself, with an Error body; Bun's own refusal has none.
    maxRequestBodySize: Number.MAX_SAFE_INTEGER,
    fetch: async (request) => {
      const respond = new Respond(responses, request, requestIdOf(request));
      try {
        return await answer(request, respond);
      } catch (error) {
        events.faulted(respond.requestId, error);
        return respond.error("fault");
      }
    },
  });
  const url = (options.baseUrl?.href ?? server.url.href).replace(/\/+$/, "");

  return {
    url,
    goUnready() {
      state = "unready";
    },
    async drain(timeoutMs) {
      state = "draining";
      void server.stop(false);
      const deadlineMs = performance.now() + timeoutMs;
      while (server.pendingRequests > 0 && performance.now() < deadlineMs) await Bun.sleep(drainLookEveryMs);
      if (server.pendingRequests > 0) events.cutOff();
      await server.stop(true);
      bodies[Symbol.dispose]();
    },
  };
}

function listen(options: Bun.Serve.Options<undefined>): Bun.Server<undefined> {
  try {
    return Bun.serve(options);
  } catch (error) {
    const { hostname, port } = options as { hostname: string; port: number };
    const address = `${hostname}:${port}`;
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === "EADDRINUSE")
      throw new ListenProblem(
        `${address} is taken by another process; stop it, or choose another --listen address.`,
      );
    throw new ListenProblem(`${address} cannot be listened on: ${message}.`);
  }
}

function noSuchPath(respond: Respond, path: string, basePath: string): Response {
  return respond.error(
    "no-such-path",
    `There is nothing at ${path.slice(0, 100)}. The operation is POST ${basePath}/plants.`,
  );
}

function noSuchMethod(respond: Respond, path: string, method: string, methods: readonly string[]): Response {
  const allowed = methods.flatMap((name) => (name === "GET" ? ["GET", "HEAD"] : [name])).join(", ");
  return respond.error("no-such-method", `${path} does not take ${method}; it takes ${allowed}.`, {
    Allow: allowed,
  });
}

function timed(handler: RouteHandler, events: Events): RouteHandler {
  return async (request, respond) => {
    const startMs = performance.now();
    const response = await handler(request, respond);
    const tookMs = Math.round((performance.now() - startMs) * 1000) / 1000;
    const { method } = request;
    // Errors have been logged where they were made.
    if (response.ok)
      events.answered({
        requestId: respond.requestId,
        method,
        path: pathOf(request),
        status: response.status,
        tookMs,
      });
    return response;
  };
}
