import { dayMs, hourMs } from "../text/duration.ts";
import { countFrom, durationFrom, InvalidValue, oneOf, type Parser } from "../text/parsers.ts";
import { databaseDefault, parseDatabase } from "./database.ts";
import {
  parseAddress,
  parseBaseUrl,
  parseHosts,
  parseIssuer,
  parseNetworks,
  parseOrigins,
  parseProviderName,
  parseRate,
} from "./setting-parsers.ts";

export interface Setting<Value> {
  /** The heading under which the help and the console list it. */
  readonly group: string;
  readonly flag: string;
  readonly variable: string;
  /** What stands for its value in the help. */
  readonly placeholder: string;
  readonly help: string;
  readonly parse: Parser<Value>;
  /** The default value, as a person would type it. */
  readonly default: string;
}

const bodyBytesMaxMax = 64 * 1024 * 1024;
// A JavaScript timer longer than 2^31 - 1 ms, not quite 25 days, fires at once.
const parseDrainTime = durationFrom(0, 24 * dayMs, "of at most 24d, such as 10s");
const parsePath = unless("", String);
const parseYesNo = oneOf(["yes", "no"]);

/** Every setting. The command line, its help, `config` and the settings page come from this table. */
export const settings = {
  listen: setting(
    "Listening",
    "listen HOST:PORT",
    "where POST /plants is served",
    parseAddress,
    "127.0.0.1:3000",
  ),
  operatorListen: setting(
    "Listening",
    "operator-listen HOST:PORT",
    "where the console and the operator's API are served, or off",
    unless("off", parseAddress),
    "127.0.0.1:3001",
  ),
  baseUrl: setting(
    "Listening",
    "base-url URL",
    "the public URL, if clients reach the service through a proxy or under a path",
    unless("", parseBaseUrl),
  ),
  tlsCert: setting(
    "Listening",
    "tls-cert PATH",
    "the certificate chain in PEM; both listeners then use TLS",
    parsePath,
  ),
  tlsKey: setting("Listening", "tls-key PATH", "the certificate's private key in PEM", parsePath),
  tlsClientCa: setting(
    "Listening",
    "tls-client-ca PATH",
    "require clients of the public listener to have a certificate from this CA",
    parsePath,
  ),
  database: setting(
    "Storage",
    "database PATH|URL",
    "the data file, or postgres://host/database",
    parseDatabase,
    databaseDefault,
  ),
  allowUnsafeDatabase: setting(
    "Storage",
    "allow-unsafe-database YES|NO",
    "yes to use a PostgreSQL server that can lose acknowledged writes",
    (text) => parseYesNo(text) === "yes",
    "no",
  ),
  backupFolder: setting(
    "Storage",
    "backup-folder PATH",
    "an existing folder with the backups of this store; the console makes its own there",
    parsePath,
  ),
  tokenFolder: setting(
    "Access",
    "token-folder PATH",
    "the folder for the first token's file, if not beside the data file",
    parsePath,
  ),
  oidcIssuer: setting(
    "Access",
    "oidc-issuer URL",
    "the identity provider whose JWT access tokens are accepted",
    unless("", parseIssuer),
  ),
  oidcAudience: setting(
    "Access",
    "oidc-audience NAME",
    "the audience that those tokens must have",
    unless("", parseProviderName),
  ),
  oidcClientId: setting(
    "Access",
    "oidc-client-id NAME",
    "the console's client at the identity provider, to sign in there",
    unless("", parseProviderName),
  ),
  trustedProxies: setting(
    "Access",
    "trusted-proxies ADDRESSES",
    "proxies whose X-Forwarded-For is read: addresses or CIDR ranges",
    parseNetworks,
  ),
  operatorHosts: setting(
    "Access",
    "operator-hosts NAMES",
    "additional host names for the operator listener",
    parseHosts,
  ),
  corsOrigins: setting(
    "Access",
    "cors-origins ORIGINS",
    "origins whose pages may call the public listener, such as https://example.org",
    parseOrigins,
  ),
  bodyBytesMax: setting(
    "Limits",
    "max-body-bytes BYTES",
    "the largest request body accepted",
    countFrom(64, bodyBytesMaxMax),
    "65536",
  ),
  bodyTimeoutMs: setting(
    "Limits",
    "body-timeout TIME",
    "how long a body may take to arrive",
    durationFrom(1, hourMs, "from 1ms to 1h, such as 10s"),
    "10s",
  ),
  pendingMax: setting(
    "Limits",
    "max-pending COUNT",
    "how many plants may be pending",
    countFrom(1, 1_000_000),
    "10000",
  ),
  rateLimit: setting(
    "Limits",
    "rate-limit COUNT/UNIT",
    "creates allowed for each token, such as 100/s",
    unless("none", parseRate),
    "none",
  ),
  drainDelayMs: setting(
    "Stopping",
    "drain-delay TIME",
    "how long to keep serving, marked unready, before stopping",
    parseDrainTime,
    "0s",
  ),
  drainTimeoutMs: setting(
    "Stopping",
    "drain-timeout TIME",
    "how long a stop waits for requests in flight",
    parseDrainTime,
    "10s",
  ),
  logLevel: setting(
    "Logs",
    "log-level LEVEL",
    "debug, info, warn, error or off",
    oneOf(["debug", "info", "warn", "error", "off"]),
    "info",
  ),
  logFormat: setting(
    "Logs",
    "log-format FORMAT",
    "pretty, json, or auto: pretty on a terminal",
    oneOf(["auto", "pretty", "json"]),
    "auto",
  ),
  logRequests: setting(
    "Logs",
    "log-requests WHICH",
    "all, errors or none",
    oneOf(["all", "errors", "none"]),
    "errors",
  ),
} as const;

export type SettingName = keyof typeof settings;

export const settingNames = Object.keys(settings) as readonly SettingName[];

export interface Secret {
  readonly variable: string;
  /** What it is, in one phrase. */
  readonly meaning: string;
}

/** Every secret. They come only from the environment, never from a flag: every user of a machine can see a command line. */
export const secrets = {
  accessToken: {
    variable: "PLANT_STORE_ACCESS_TOKEN",
    meaning: "a token with the scope plants:create that is not in the store",
  },
  operatorToken: {
    variable: "PLANT_STORE_OPERATOR_TOKEN",
    meaning: "a token with the scope operator that is not in the store",
  },
  databasePassword: {
    variable: "PLANT_STORE_DATABASE_PASSWORD",
    meaning: "the password for PostgreSQL, if the URL has none",
  },
} as const satisfies Record<string, Secret>;

export type SecretName = keyof typeof secrets;

/** `usage` is the flag and what stands for its value, such as `listen HOST:PORT`. The variable has the name of the flag. */
function setting<Value>(
  group: string,
  usage: string,
  help: string,
  parse: Parser<Value>,
  defaultText = "",
): Setting<Value> {
  const [flag = "", placeholder = ""] = usage.split(" ");
  const variable = `PLANT_STORE_${flag.replaceAll("-", "_").toUpperCase()}`;
  return { group, flag, variable, placeholder, help, parse, default: defaultText };
}

/** A parser that reads this word as undefined, and names it beside what else the text may be. */
function unless<Value>(word: string, parse: Parser<Value>): Parser<Value | undefined> {
  return (text) => {
    if (text === word) return undefined;
    try {
      return parse(text);
    } catch (error) {
      if (word === "" || !(error instanceof InvalidValue)) throw error;
      throw new InvalidValue(`${error.message}, or ${word}`);
    }
  };
}
