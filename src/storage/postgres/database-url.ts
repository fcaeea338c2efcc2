// Reads the URL of a database, and refuses one that would not protect the connection.

import type { ConnectionOptions } from "node:tls";
import { parse } from "pg-connection-string";
import { messageOf, pathOf } from "../../system/errors.ts";
import { isLoopback, portMax } from "../../system/ip-address.ts";
import { misuse, Problem } from "../../system/problem.ts";
import { shortened } from "../../text/cut-text.ts";

export interface Host {
  readonly host: string;
  readonly port: number;
  /** The options of TLS, as pg takes them; false without TLS. */
  readonly ssl: ConnectionOptions | false;
}

/** How to connect. What is undefined comes from the environment variables of libpq. */
export interface DatabaseAddress {
  /** One or more hosts, of which the one that accepts writes is used. */
  readonly hosts: readonly Host[];
  readonly database: string | undefined;
  readonly user: string | undefined;
  /** A function if it may change from one connection to the next. */
  readonly password: string | (() => string) | undefined;
  /** Whether the login must be bound to the TLS connection. */
  readonly bindsChannel: boolean;
  /** Settings for the session, as `-c name=value`, or whatever a provider's proxy expects there. */
  readonly options: string | undefined;
}

const portDefault = 5432;
// What a message quotes of an option.
const quotedCharactersMax = 40;
const supported = [
  "sslmode",
  "sslrootcert",
  "sslcert",
  "sslkey",
  "target_session_attrs",
  "user",
  "password",
  "channel_binding",
  "options",
];

/**
 * Reads `postgres://user:password@host:port,host:port/database?sslmode=…`, as libpq does. pg-connection-string, which reads one
 * host, does the rest.
 * @throws Problem
 */
export function parseDatabaseUrl(text: string): DatabaseAddress {
  try {
    return parseUrl(text);
  } catch (error) {
    if (error instanceof Problem) throw error;
    // Any other message may quote the URL, and with it the password.
    const reason = pathOf(error) === undefined ? "an escaped character is not UTF-8" : messageOf(error);
    throw misuse(`The database URL cannot be used: ${reason}.`);
  }
}

/** Whether nothing that is sent to the host leaves this machine: it is a socket, or loopback. */
export function isLocal(host: string): boolean {
  return host.startsWith("/") || isLoopback(host);
}

function parseUrl(text: string): DatabaseAddress {
  const match = /^postgres(?:ql)?:\/\/([^@/?#]*@)?([^/?#@]*)(\/[^?#]*)?(?:\?([^#]*))?$/i.exec(text);
  if (match === null) throw misuse("The database URL must look like postgres://user@host:5432/database.");
  if (/%(?![0-9a-f]{2})/i.test(text))
    throw misuse("The database URL has a % that is not followed by two hexadecimal digits.");
  const [, login = "", hosts = "", path = "/", query = ""] = match;
  const options = new URLSearchParams(query);
  refuseUnknownOption(options);
  // Whichever it is, the server that accepts writes is used.
  refuseUnknownChoice(options, "target_session_attrs", ["any", "read-write", "primary"]);
  refuseUnknownChoice(options, "channel_binding", ["disable", "prefer", "require"]);
  refuseUnsafeTls(options);
  const parsed = hosts.split(",").map((host) => parseHost(login, host, options));
  const { user, password } = parsed[0] ?? {};
  return {
    hosts: parsed.map(({ host, port, ssl }) => ({ host, port, ssl })),
    // The name is decoded here, because pg-connection-string leaves %2F and %40 as they are.
    database: decodeURIComponent(path.slice(1)) || undefined,
    user: user || undefined,
    password: password || undefined,
    bindsChannel: options.get("channel_binding") === "require",
    options: options.get("options") || undefined,
  };
}

function refuseUnknownOption(options: URLSearchParams): void {
  const unknown = [...options.keys()].find((name) => !supported.includes(name));
  if (unknown === undefined) return;
  // After an unescaped ? in a password, the rest of the URL, up to its @, looks like an option.
  const named = options.toString().includes("%40")
    ? "an option that"
    : `the option ${shortened(unknown, quotedCharactersMax)}, which`;
  throw misuse(`The database URL has ${named} is none of ${supported.join(", ")}.`);
}

function refuseUnknownChoice(options: URLSearchParams, name: string, choices: readonly string[]): void {
  const given = options.get(name);
  if (given !== null && !choices.includes(given))
    throw misuse(
      `The database URL has ${name}=${shortened(given, quotedCharactersMax)}, which is none of ${choices.join(", ")}.`,
    );
}

function parseHost(
  login: string,
  text: string,
  options: URLSearchParams,
): Host & { user: string | undefined; password: string | undefined } {
  const match = /^(\[[0-9a-f:.]+\]|[^:[\]]*)(?::(\d{1,5}))?$/i.exec(text);
  const port = Number(match?.[2] ?? portDefault);
  // The message does not quote it: with an unescaped / in a password, it would be part of the password.
  if (match === null || port < 1 || port > portMax)
    throw misuse(
      "The database URL's host or port cannot be read. Write / ? # and @ in a password as %2F %3F %23 and %40.",
    );
  // A host that starts with a slash is the folder of a socket, written as %2Fvar%2Frun%2Fpostgresql.
  const written = match[1] || "localhost";
  const name = decodeURIComponent(written.replace(/[[\]]/g, ""));
  const url = `postgres://${login}${written}?${withTls(options, name)}`.replaceAll(" ", "%20");
  const { ssl, user, password } = parse(url, { useLibpqCompat: true });
  return { host: name, port, ssl: ssl ? (ssl as ConnectionOptions) : false, user, password };
}

/** Refuses options that would not protect the connection as they say. */
function refuseUnsafeTls(options: URLSearchParams): void {
  const given = options.get("sslmode");
  if (given === "allow" || given === "prefer")
    throw misuse(
      `The database URL has sslmode=${given}, which lets anyone between service and server turn TLS off. Use verify-full, or disable on a trusted network.`,
    );
  refuseUnknownChoice(options, "sslmode", ["disable", "require", "verify-ca", "verify-full"]);
  const root = options.get("sslrootcert");
  if (given === "verify-ca" && (root === null || root === "system"))
    throw misuse(
      "The database URL has sslmode=verify-ca without a root certificate of your own in sslrootcert: anyone can get a certificate from a public authority; use verify-full.",
    );
  if (root === "system" && given !== null && given !== "verify-full")
    throw misuse("The database URL has sslrootcert=system, which needs sslmode=verify-full.");
  if (options.has("sslcert") !== options.has("sslkey"))
    throw misuse("The database URL needs sslcert and sslkey together.");
}

/** The options for one host, whose sslmode is given, or depends on whether the connection leaves this machine. */
function withTls(options: URLSearchParams, host: string): URLSearchParams {
  const forHost = new URLSearchParams(options);
  // PostgreSQL offers no TLS on a socket.
  if (host.startsWith("/")) forHost.set("sslmode", "disable");
  if (!forHost.has("sslmode")) forHost.set("sslmode", isLocal(host) ? "disable" : "verify-full");
  if (forHost.get("sslrootcert") === "system") forHost.delete("sslrootcert");
  return forHost;
}
