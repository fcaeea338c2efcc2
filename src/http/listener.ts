import { isIP } from "node:net";
import type { Gate } from "../access/gate.ts";
import type { Intake } from "../plants/intake.ts";
import { isLoopback, portMax } from "../system/ip-address.ts";
import type { Events } from "../telemetry/events.ts";
import type { ListenerName } from "../telemetry/metrics.ts";
import { ClientAddresses } from "./client-address.ts";
import { Cors } from "./cors.ts";
import { Exchange, type SharedByExchanges } from "./exchange.ts";
import { healthRoutes, type Readiness } from "./health.ts";
import { formatAddress, listenProblem, reachableUrl } from "./listen-address.ts";
import type { LoggedRequests } from "./log-fields.ts";
import { quoted } from "./refusal.ts";
import { page, type Reply, refuse } from "./reply.ts";
import { RequestIds } from "./request-ids.ts";
import { ResponseDate } from "./response-date.ts";
import { type HandlerResult, type Route, Router, type RouterOptions, secretPathsOf } from "./route.ts";
import { OpenResponses } from "./streaming.ts";
import { readTlsFiles, type TlsPaths } from "./tls-files.ts";
import type { Connection, RequestHandler } from "./wire/connection.ts";
import { ExpectationFailed, type Head } from "./wire/head.ts";
import type { WireFault } from "./wire/wire-fault.ts";
import { type ConnectionEvents, WireServer } from "./wire/wire-server.ts";

/** What the configuration says about a listener. */
export interface ListenerSettings {
  readonly host: string;
  readonly port: number;
  /** Undefined if clients reach it at the address that it listens on. */
  readonly baseUrl?: URL | undefined;
  /** Undefined for plain text. */
  readonly tls: TlsPaths | undefined;
  readonly connectionsMax: number;
  readonly bodyBytesMax: number;
  readonly bodyTimeoutMs: number;
  readonly logRequests: LoggedRequests;
  /** Addresses and CIDR ranges of the proxies whose X-Forwarded-For is read. */
  readonly trustedProxies: readonly string[];
  /** Whose pages may call it from a browser; `*` for every origin's. By default only its own. */
  readonly corsOrigins?: readonly string[];
  /** The names that it answers to, in lower case, besides the one it listens on; undefined if any name will do. */
  readonly hosts?: readonly string[] | undefined;
}

/** What makes a listener the public one or the operator's. */
export interface ListenerKind extends RouterOptions {
  readonly name: ListenerName;
}

/** What every listener needs. */
export interface ListenerDependencies {
  readonly gate: Gate;
  readonly intake: Intake;
  readonly readiness: Readiness;
  readonly events: Events;
}

// These names always mean this machine (RFC 6761, 6.3). Other characters are not allowed in them, although a Host header may have
// some: whoever reads a name up to a NUL would take `evil.example%00.localhost` for evil.example.
const localName = /^(?:[a-z0-9.-]+\.)?localhost$/;

/** Serves a table of routes, and the health checks, over HTTP/1.1. */
export class Listener implements RequestHandler, AsyncDisposable {
  /** What it is bound to, as `HOST:PORT`. */
  readonly address: string;
  readonly port: number;
  /** Where clients reach it, without a trailing slash. */
  readonly url: string;
  /** Undefined without TLS. */
  readonly certificateExpiresAtMs: number | undefined;
  readonly #hosts: readonly string[] | undefined;
  readonly #shared: SharedByExchanges;
  readonly #router: Router;
  readonly #server: WireServer;

  /**
   * @throws Problem the address cannot be listened on.
   * @throws Problem its certificate or key cannot be used.
   */
  constructor(
    routes: readonly Route[],
    dependencies: ListenerDependencies,
    kind: ListenerKind,
    settings: ListenerSettings,
  ) {
    const { gate, readiness, events } = dependencies;
    const { host, hosts, corsOrigins = [] } = settings;
    this.#hosts = hosts && [host.toLowerCase(), ...hosts];
    this.#router = new Router([...routes, ...healthRoutes(readiness)], kind);
    this.#shared = {
      listener: kind.name,
      logRequests: settings.logRequests,
      gate,
      events,
      date: new ResponseDate(),
      requestIds: new RequestIds(),
      addresses: new ClientAddresses(settings.trustedProxies),
      responses: new OpenResponses(),
      cors: corsOrigins.length === 0 ? undefined : new Cors(corsOrigins),
      secretPaths: secretPathsOf(routes, kind.basePath),
    };
    const tls = settings.tls && readTlsFiles(settings.tls);
    this.certificateExpiresAtMs = tls?.expiresAtMs;
    const connectionEvents: ConnectionEvents = {
      connectionLimitReached: events.connectionLimitReached,
      connections: (open) => events.connections(kind.name, open),
      callbackFailed: (error) => events.internalError(() => ({}), error),
    };
    try {
      const options = {
        host,
        port: settings.port,
        tls,
        connectionsMax: settings.connectionsMax,
        bodyBytesMax: settings.bodyBytesMax,
        bodyTimeoutMs: settings.bodyTimeoutMs,
        events: connectionEvents,
      };
      this.#server = new WireServer(options, this);
    } catch (error) {
      throw listenProblem(error, settings, kind.name);
    }
    connectionEvents.connections(0);
    const bound = { host, port: this.#server.port, isSecure: tls !== undefined };
    this.port = bound.port;
    this.address = formatAddress(bound);
    this.url = reachableUrl(settings.baseUrl, bound);
    // Tokens travel in every request.
    if (!bound.isSecure && !isLoopback(host)) events.plainText(this.address);
  }

  handle(connection: Connection, head: Head): void {
    const exchange = new Exchange(connection, head, this.#shared);
    try {
      const reply = this.#replyTo(exchange, head);
      if (reply instanceof Promise) void this.#sendOnceSettled(exchange, reply);
      else if (reply !== undefined) exchange.send(reply);
    } catch (error) {
      exchange.fail(error);
    }
  }

  handleFault(connection: Connection, fault: WireFault): void {
    const head = fault instanceof ExpectationFailed ? fault.head : undefined;
    new Exchange(connection, head, this.#shared).respondToFault(fault);
  }

  #replyTo(exchange: Exchange, head: Head): HandlerResult {
    if (this.#hosts !== undefined && !isAcceptedHost(this.#hosts, head.header("host")))
      return wrongHost(head.header("host"));
    const preflight = this.#shared.cors?.preflightHeaders(head);
    if (preflight !== undefined) return page("text/plain", "", preflight);
    return this.#router.handle(exchange, head.path, head.method);
  }

  async #sendOnceSettled(exchange: Exchange, settling: Promise<Reply | undefined>): Promise<void> {
    try {
      const reply = await settling;
      if (reply !== undefined) exchange.send(reply);
    } catch (error) {
      exchange.fail(error);
    }
  }

  /**
   * Accepts no new connection, aborts streams, sends what was delayed, responds to what was sent, and closes what is left after the
   * timeout. True if no request was aborted.
   */
  drain(timeoutMs: number): Promise<boolean> {
    const drained = this.#server.drain(timeoutMs);
    // After that, since their heads say that the connection closes.
    this.#shared.responses.drain();
    return drained;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.drain(0);
  }
}

/**
 * Whether a Host header is an IP address, localhost, or one of these names. A page that a browser loaded from elsewhere could
 * have its own name point here (DNS rebinding), but never one of these.
 */
function isAcceptedHost(names: readonly string[], header: string | undefined): boolean {
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]]+))(?::(\d{1,5}))?$/.exec(header ?? "");
  if (Number(match?.[3] ?? 0) > portMax) return false;
  const name = (match?.[1] ?? match?.[2] ?? "").toLowerCase();
  if (localName.test(name) || isIP(name) !== 0) return true;
  return name !== "" && names.includes(name);
}

function wrongHost(header: string | undefined): Reply {
  const name = quoted(header ?? "") || "(none)";
  const message = `The operator listener does not accept the host name ${name}.`;
  return refuse({ kind: "wrong-host", message });
}
