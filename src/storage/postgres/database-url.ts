import { readFileSync } from "node:fs";
import type { ConnectionOptions } from "node:tls";

export interface Host {
  readonly host: string;
  readonly port: number;
}

/** Where the database is and how to get in. What is undefined comes from the variables that PostgreSQL's own tools read. */
export interface DatabaseAddress {
  /** One or more; the one that takes writes is found out by asking. */
  readonly hosts: readonly Host[];
  readonly database: string | undefined;
  readonly user: string | undefined;
  readonly password: string | undefined;
  readonly tls: Tls;
}

export interface Tls {
  /** `prefer` goes on without TLS where the server has none. */
  readonly use: "never" | "prefer" | "always";
  readonly options: ConnectionOptions;
}

/** A database that cannot be used, in one sentence for the operator. Never holds the password. */
export class DatabaseProblem extends Error {
  override readonly name = "DatabaseProblem";
}

const portStandard = 5432;
const known = ["sslmode", "sslrootcert", "sslcert", "sslkey", "target_session_attrs", "user", "password"];
const modes = ["disable", "prefer", "require", "verify-ca", "verify-full"];

export function isDatabaseUrl(text: string): boolean {
  return /^postgres(?:ql)?:\/\//i.test(text);
}

/**
 * Reads `postgres://user:password@host:port,host:port/database?sslmode=…`, with the meaning that libpq gives it.
 * @throws DatabaseProblem
 */
export function parseDatabaseUrl(text: string): DatabaseAddress {
  const match = /^postgres(?:ql)?:\/\/(?:([^@/?#]*)@)?([^/?#@]*)(?:\/([^?#]*))?(?:\?([^#]*))?$/i.exec(text);
  if (match === null)
    throw new DatabaseProblem("The database URL must look like postgres://user@host:5432/database.");
  const [, login = "", hosts = "", database = "", query = ""] = match;
  const options = new URLSearchParams(query);
  const unknown = [...options.keys()].find((name) => !known.includes(name));
  if (unknown !== undefined)
    // Not quoted: with a ? in a password that is not escaped, it would be a part of that.
    throw new DatabaseProblem(`The database URL has an option that is none of ${known.join(", ")}.`);

  // Said or not, it is what we do with several hosts; anything else would not take plants.
  if (!["primary", "read-write"].includes(options.get("target_session_attrs") ?? "primary"))
    throw new DatabaseProblem("The database URL's target_session_attrs can be primary or read-write alone.");

  const colon = login.indexOf(":");
  const user = decoded(colon < 0 ? login : login.slice(0, colon)) || options.get("user");
  const password = (colon < 0 ? "" : decoded(login.slice(colon + 1))) || options.get("password");
  return {
    hosts: hosts.split(",").map(parseHost),
    database: decoded(database) || undefined,
    user: user || undefined,
    password: password || undefined,
    tls: readTls(options),
  };
}

function parseHost(text: string): Host {
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]]*))(?::(\d{1,5}))?$/.exec(text);
  // Not quoted: with a / in a password that is not escaped, it would be a part of that.
  if (match === null)
    throw new DatabaseProblem(
      "The database URL's host cannot be read. Write / ? # and @ in a password as %2F %3F %23 and %40.",
    );
  // A host that begins with a slash is the folder of a socket, written as %2Fvar%2Frun%2Fpostgresql.
  const host = match[1] ?? decoded(match[2] ?? "");
  return { host: host || "localhost", port: Number(match[3] ?? portStandard) };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new DatabaseProblem("The database URL has a % that is not followed by two hexadecimal digits.");
  }
}

function readTls(options: URLSearchParams): Tls {
  const mode = options.get("sslmode") ?? "prefer";
  if (!modes.includes(mode))
    throw new DatabaseProblem(`The database URL has sslmode=${mode}, which is none of ${modes.join(", ")}.`);
  if (mode === "disable") return { use: "never", options: {} };
  const root = options.get("sslrootcert");
  // As in libpq, `require` alone encrypts and trusts anyone; with a root certificate it means verify-ca.
  const verifies = mode.startsWith("verify") || (mode === "require" && root !== null);
  return {
    use: mode === "prefer" ? "prefer" : "always",
    options: {
      rejectUnauthorized: verifies,
      ...(mode === "verify-full" ? {} : { checkServerIdentity: () => undefined }),
      ...(root === null || root === "system" ? {} : { ca: readCertificate(root, "sslrootcert") }),
      ...clientCertificate(options),
    },
  };
}

function clientCertificate(options: URLSearchParams): ConnectionOptions {
  const cert = options.get("sslcert");
  const key = options.get("sslkey");
  if (cert === null && key === null) return {};
  if (cert === null || key === null)
    throw new DatabaseProblem("The database URL needs sslcert and sslkey together.");
  return { cert: readCertificate(cert, "sslcert"), key: readCertificate(key, "sslkey") };
}

function readCertificate(path: string, option: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    throw new DatabaseProblem(`The database URL's ${option} cannot be read: ${(error as Error).message}.`);
  }
}
