import type { Caller, Gate } from "../access/gate.ts";
import type { Scope } from "../access/scopes.ts";
import { catalogue } from "../http/error-catalogue.ts";
import { RequestIds } from "../http/exchange.ts";
import { ListenProblem, publicUrl } from "../http/listen-address.ts";
import type { Events } from "../telemetry/events.ts";
import { type Answer, errorResponse, json, Refused } from "./call.ts";
import { consolePage } from "./console-pages.ts";
import { Exports } from "./exports.ts";
import { Feed } from "./feed.ts";
import { forwardPlant } from "./forward-plant.ts";
import { type MetricsParts, metrics } from "./metrics.ts";
import { describeOperatorApi } from "./openapi.ts";
import { overview } from "./overview.ts";
import { isOwnHost } from "./own-host.ts";
import { listPlants, showPlant } from "./plants.ts";
import { denied, failure, readiness } from "./refusals.ts";
import { addToken, listTokens, revokeToken, rotate, type TokenParts } from "./tokens.ts";

export interface OperatorParts extends TokenParts, MetricsParts {
  readonly gate: Gate;
  readonly events: Events;
}

export interface OperatorOptions {
  readonly host: string;
  readonly port: number;
  /** Where POST /plants is served on this machine. */
  readonly plantsUrl: string;
  /** The largest body that it takes there. */
  readonly bodyBytesMax: number;
  readonly engine: string;
}

export interface OperatorListener {
  readonly url: string;
  goUnready(): void;
  /** Ends at once: nothing that is stored hangs on an operator's request. */
  close(): Promise<void>;
}

// How far a body may be over every limit and still be answered with ours; past it the server cuts it off.
const bodyBytesOver = 1_048_576;
// Above what the slowest question to a database may take.
const idleSeconds = 60;
// The shortest there is. Bun has no other way to close a connection whose client does not read.
const cutSeconds = 1;

type Open = (request: Request, named: string, cut: () => void) => Response | Promise<Response>;
type Route = { readonly open: Open } | { readonly scope: Scope; readonly answer: Answer };

const forOperators = (answer: Answer): Route => ({ scope: "operator", answer });

export function startOperatorListener(parts: OperatorParts, options: OperatorOptions): OperatorListener {
  const { archive, intake } = parts;
  const startedAtMs = Date.now();
  let ready = true;
  const admit = (authorization: string | undefined, scope: Scope) =>
    parts.gate.admit(authorization, scope, Date.now());
  const feed = new Feed(archive);
  const exports = new Exports(archive);
  const page = consolePage();
  const requestIds = new RequestIds();

  const routes: Record<string, Record<string, Route>> = {
    "/": { GET: { open: page } },
    "/plants": {
      GET: { open: page },
      POST: { scope: "plants:create", answer: forwardPlant(options.plantsUrl) },
    },
    "/plants/*": { GET: { open: page } },
    "/import": { GET: { open: page } },
    "/tokens": { GET: { open: page } },
    "/assets/*": { GET: { open: page } },
    "/api/me": { GET: forOperators(({ caller }) => json(shownCaller(caller))) },
    "/api/overview": {
      GET: forOperators(overview({ ...parts, engine: options.engine, startedAtMs })),
    },
    "/api/plants": { GET: forOperators(listPlants(archive)) },
    "/api/plants/*": { GET: forOperators(showPlant(archive)) },
    "/api/feed": { GET: forOperators(feed.watch) },
    "/api/export": { GET: forOperators(exports.straight) },
    "/api/exports": { POST: forOperators(exports.createLink) },
    "/api/exports/*": { GET: { open: exports.follow } },
    "/api/tokens": { GET: forOperators(listTokens(parts)), POST: forOperators(addToken(parts)) },
    "/api/tokens/*/revoke": { POST: forOperators(revokeToken(parts)) },
    "/api/tokens/*/rotate": { POST: forOperators(rotate(parts)) },
    "/metrics": { GET: forOperators(metrics(parts, startedAtMs)) },
    "/openapi.json": { GET: { open: () => new Response(describeOperatorApi(url), jsonType) } },
    "/livez": { GET: { open: () => json({ status: "live" }) } },
    "/readyz": { GET: { open: async () => readiness(ready, await intake.ready()) } },
  };
  const table = Object.entries(routes).map(([path, methods]) => ({
    pattern: new RegExp(`^${path.replaceAll(".", "\\.").replaceAll("*", "([^/]+)")}$`),
    methods: new Map(Object.entries(methods)),
  }));

  // The order of checks: host, path, method, credentials, and then the route's own.
  const answer = async (request: Request, cut: () => void): Promise<Response> => {
    if (!isOwnHost(request.headers.get("host"), options.host)) throw wrongHost(request);
    const target = URL.parse(request.url);
    if (target === null) throw wrongHost(request);
    const { pathname, searchParams } = target;
    for (const { pattern, methods } of table) {
      const match = pattern.exec(pathname);
      if (match === null) continue;
      const route = methods.get(request.method === "HEAD" ? "GET" : request.method);
      if (route === undefined) return noSuchMethod(pathname, request.method, [...methods.keys()]);
      const named = decoded(match[1] ?? "");
      if ("open" in route) return route.open(request, named, cut);
      const authorization = request.headers.get("authorization") ?? undefined;
      const caller = admit(authorization, route.scope);
      if (typeof caller === "string") return denied(caller, route.scope);
      const stillAllowed = () => typeof admit(authorization, route.scope) !== "string";
      return route.answer({ request, query: searchParams, named, caller, stillAllowed, cut });
    }
    throw new Refused(
      "no-such-path",
      `There is nothing at ${pathname.slice(0, 100)}. GET /openapi.json describes what there is.`,
    );
  };

  const server = listen(options, async (request, closeAfter) => {
    const requestId = requestIds.of(request.headers.get("x-request-id") ?? undefined);
    const response = await answer(request, () => closeAfter(cutSeconds)).catch((error: unknown) =>
      failure(error, request, requestId, parts.events),
    );
    // A feed or an export may be silent for longer than an answer that is stuck; each ends by itself one that is.
    if (isStream(response)) closeAfter(0);
    response.headers.set("X-Request-Id", response.headers.get("X-Request-Id") ?? requestId);
    response.headers.set("X-Content-Type-Options", "nosniff");
    if (!response.headers.has("Cache-Control")) response.headers.set("Cache-Control", "no-store");
    return response;
  });
  const url = publicUrl(undefined, options.host, server.port ?? options.port);

  return {
    url,
    goUnready() {
      ready = false;
    },
    async close() {
      feed.close();
      exports.close();
      await server.stop(true);
    },
  };
}

const jsonType = { headers: { "Content-Type": "application/json" } };

function listen(
  { host, port, bodyBytesMax }: OperatorOptions,
  /** `closeAfter` sets how long the connection may be idle, in seconds; 0 is for as long as it likes. */
  respond: (request: Request, closeAfter: (seconds: number) => void) => Promise<Response>,
) {
  try {
    return Bun.serve({
      hostname: host,
      port,
      // Said, because otherwise two services can share a port without a word, and each gets some of the requests.
      reusePort: false,
      development: false,
      maxRequestBodySize: bodyBytesMax + bodyBytesOver,
      idleTimeout: idleSeconds,
      fetch: (request, server) => respond(request, (seconds) => server.timeout(request, seconds)),
      error: () => errorResponse("internal-error", catalogue["internal-error"].example),
    });
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const reason =
      code === "EADDRINUSE" ? "is taken by another process" : `cannot be listened on: ${message}`;
    throw new ListenProblem(`${host}:${port} ${reason}; choose another --operator-listen address, or off.`);
  }
}

function isStream({ headers }: Response): boolean {
  return headers.has("Content-Disposition") || headers.get("Content-Type") === "text/event-stream";
}

function noSuchMethod(path: string, method: string, methods: readonly string[]): Response {
  const allowed = methods.flatMap((name) => (name === "GET" ? ["GET", "HEAD"] : [name])).join(", ");
  const message = `${path.slice(0, 100)} does not take ${method.slice(0, 20)}; it takes ${allowed}.`;
  return errorResponse("no-such-method", message, { Allow: allowed });
}

function wrongHost(request: Request): Refused {
  const host = request.headers.get("host") ?? "";
  return new Refused(
    "wrong-host",
    `The operator listener is not known by the name ${host.slice(0, 100) || "(none)"}.`,
  );
}

function shownCaller({ name, scopes, expiresAtMs }: Caller) {
  return {
    name,
    scopes,
    expiresAt: expiresAtMs === undefined ? undefined : new Date(expiresAtMs).toISOString(),
  };
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw new Refused("no-such-path", "The path is not well encoded.");
  }
}
