import { readFileSync } from "node:fs";
import type { ConnectionOptions } from "node:tls";

export interface Host {
  readonly host: string;
  readonly port: number;
}

/** How to connect. What is undefined comes from the environment variables of libpq. */
export interface DatabaseAddress {
  /** One or more, of which the one that accepts writes is used. */
  readonly hosts: readonly Host[];
  readonly database: string | undefined;
  readonly user: string | undefined;
  /** A function if it may change from one connection to the next. */
  readonly password: string | (() => string) | undefined;
  readonly tls: Tls;
  readonly channelBinding: "disable" | "prefer" | "require";
  readonly applicationName: string;
  readonly connectMsMax: number;
  /** Settings for the session, as `-c name=value`, or whatever a provider's proxy expects there. */
  readonly options: string | undefined;
  /** One sentence for each part of the URL that has no effect. */
  readonly warnings: readonly string[];
}

export interface Tls {
  /** `prefer` continues without TLS if the server has none; `allow` uses it only if the server requires it. */
  readonly use: "never" | "allow" | "prefer" | "always";
  readonly options: ConnectionOptions;
  /** Whether TLS proves that the server is the one named in the URL, or has a certificate from the given CA. */
  readonly verifies: boolean;
}

/** A database that cannot be used, in one sentence for the operator. Never holds the password. */
export class DatabaseProblem extends Error {
  override readonly name: string = "DatabaseProblem";
}

/** The same when no retry can help: someone must change a setting first. */
export class DatabaseMisuse extends DatabaseProblem {
  override readonly name = "DatabaseMisuse";
}

const portDefault = 5432;
const portMax = 65_535;
// A server that needs longer to accept a connection counts as unreachable.
const connectMsDefault = 2000;
const connectMsMaxMax = 60_000;
const supported = [
  "sslmode",
  "sslrootcert",
  "sslcert",
  "sslkey",
  "target_session_attrs",
  "user",
  "password",
  "channel_binding",
  "application_name",
  "connect_timeout",
  "options",
];
// Other options of libpq, which managed providers put into their URLs. None of them changes what is stored.
const ignored =
  /^(?:client_encoding|fallback_application_name|gss\w+|keepalives\w*|krbsrvname|load_balance_hosts|max_protocol_version|min_protocol_version|passfile|pgbouncer|replication|require_auth|requirepeer|sslcompression|sslcrl|sslcrldir|sslnegotiation|sslsni|ssl_m\w+_protocol_version|tcp_user_timeout)$/;
const modes = ["disable", "allow", "prefer", "require", "verify-ca", "verify-full"];

export function isDatabaseUrl(text: string): boolean {
  return /^postgres(?:ql)?:\/\//i.test(text);
}

/**
 * Reads `postgres://user:password@host:port,host:port/database?sslmode=…`, as libpq does.
 * @throws DatabaseProblem
 */
export function parseDatabaseUrl(text: string): DatabaseAddress {
  const match = /^postgres(?:ql)?:\/\/(?:([^@/?#]*)@)?([^/?#@]*)(?:\/([^?#]*))?(?:\?([^#]*))?$/i.exec(text);
  if (match === null)
    throw new DatabaseMisuse("The database URL must look like postgres://user@host:5432/database.");
  const [, login = "", hosts = "", database = "", query = ""] = match;
  const options = new URLSearchParams(query);
  const warnings = warningsOf(options);
  const colon = login.indexOf(":");
  const user = decode(colon < 0 ? login : login.slice(0, colon)) || options.get("user");
  const password = (colon < 0 ? "" : decode(login.slice(colon + 1))) || options.get("password");
  return {
    hosts: hosts.split(",").map(parseHost),
    database: decode(database) || undefined,
    user: user || undefined,
    password: password || undefined,
    tls: readTls(options),
    channelBinding: readChoice(options, "channel_binding", ["disable", "prefer", "require"]) ?? "disable",
    applicationName: options.get("application_name") || "plant-store",
    connectMsMax: readConnectTimeout(options),
    options: options.get("options") || undefined,
    warnings,
  };
}

function warningsOf(options: URLSearchParams): string[] {
  const others = [...options.keys()].filter((name) => !supported.includes(name));
  const unknown = others.find((name) => !ignored.test(name));
  if (unknown !== undefined) {
    // After an unescaped ? in a password, the rest of the URL, up to its @, looks like an option.
    const named = options.toString().includes("%40")
      ? "an option that"
      : `the option ${unknown.slice(0, 40)}, which`;
    throw new DatabaseMisuse(`The database URL has ${named} is none of ${supported.join(", ")}.`);
  }
  const attributes = readChoice(options, "target_session_attrs", [
    "any",
    "read-write",
    "primary",
    "prefer-standby",
  ]);
  const warnings = others.map((name) => `the database URL's ${name} is not supported and has no effect`);
  // Whatever it says, the server that accepts writes is used.
  if (attributes === "prefer-standby")
    warnings.push(
      "the database URL's target_session_attrs=prefer-standby has no effect: plants need a primary",
    );
  return warnings;
}

function readChoice<Choice extends string>(
  options: URLSearchParams,
  name: string,
  choices: readonly Choice[],
): Choice | undefined {
  const given = options.get(name);
  if (given === null) return undefined;
  const choice = choices.find((one) => one === given);
  if (choice === undefined)
    throw new DatabaseMisuse(
      `The database URL has ${name}=${given.slice(0, 40)}, which is none of ${choices.join(", ")}.`,
    );
  return choice;
}

// In seconds, as in libpq; there 0 and less mean no limit.
function readConnectTimeout(options: URLSearchParams): number {
  const given = options.get("connect_timeout");
  if (given === null) return connectMsDefault;
  if (!/^-?\d{1,9}$/.test(given))
    throw new DatabaseMisuse("The database URL's connect_timeout must be an integer number of seconds.");
  const timeoutMs = Number(given) * 1000;
  return timeoutMs <= 0 ? connectMsMaxMax : Math.min(timeoutMs, connectMsMaxMax);
}

function parseHost(text: string): Host {
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]]*))(?::(\d{1,5}))?$/.exec(text);
  // Not quoted: with an unescaped / in a password, it would be part of the password.
  if (match === null)
    throw new DatabaseMisuse(
      "The database URL's host cannot be read. Write / ? # and @ in a password as %2F %3F %23 and %40.",
    );
  // A host that starts with a slash is the folder of a socket, written as %2Fvar%2Frun%2Fpostgresql.
  const host = match[1] ?? decode(match[2] ?? "");
  const port = Number(match[3] ?? portDefault);
  if (port < 1 || port > portMax)
    throw new DatabaseMisuse(`The database URL has a port that is not between 1 and ${portMax}.`);
  return { host: host || "localhost", port };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new DatabaseMisuse("The database URL has a % that is not followed by two hexadecimal digits.");
  }
}

function readTls(options: URLSearchParams): Tls {
  const mode = readChoice(options, "sslmode", modes) ?? "prefer";
  if (mode === "disable") return { use: "never", options: {}, verifies: false };
  const root = options.get("sslrootcert");
  // As in libpq, `require` alone encrypts and trusts anyone; with a root certificate it means verify-ca.
  const verifies = mode.startsWith("verify") || (mode === "require" && root !== null);
  const ownRoot = root !== null && root !== "system";
  return {
    use: mode === "prefer" || mode === "allow" ? mode : "always",
    // Without the host name, a certificate from a public CA proves nothing: anyone can get one.
    verifies: verifies && (mode === "verify-full" || ownRoot),
    options: {
      rejectUnauthorized: verifies,
      ...(mode === "verify-full" ? {} : { checkServerIdentity: () => undefined }),
      ...(ownRoot ? { ca: readCertificate(root, "sslrootcert") } : {}),
      ...clientCertificate(options),
    },
  };
}

function clientCertificate(options: URLSearchParams): ConnectionOptions {
  const cert = options.get("sslcert");
  const key = options.get("sslkey");
  if (cert === null && key === null) return {};
  if (cert === null || key === null)
    throw new DatabaseMisuse("The database URL needs sslcert and sslkey together.");
  return { cert: readCertificate(cert, "sslcert"), key: readCertificate(key, "sslkey") };
}

function readCertificate(path: string, option: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    throw new DatabaseMisuse(`The database URL's ${option} cannot be read: ${(error as Error).message}.`);
  }
}
