import { dayMs, hourMs } from "../text/duration.ts";
import { countFrom, durationFrom, oneOf, type Parser } from "../text/parsers.ts";
import {
  parseAddress,
  parseBaseUrl,
  parseDatabase,
  parseHosts,
  parseIssuer,
  parseNetworks,
  parseOrigins,
  parseProviderName,
  parseRate,
} from "./values.ts";

export interface Setting<Value> {
  readonly flag: string;
  readonly environment: string;
  /** The default value, as a person would type it. */
  readonly default: string;
  readonly placeholder: string;
  readonly help: string;
  readonly parse: Parser<Value>;
}

const bodyTimeoutMsMax = hourMs;
// A JavaScript timer longer than 2^31 - 1 ms, not quite 25 days, fires at once.
const drainMsMax = 24 * dayMs;
const parseDrainTime = durationFrom(0, drainMsMax, "of at most 24d, such as 10s");
const parseYesNo = oneOf(["yes", "no"]);
const bodyBytesMaxMax = 64 * 1024 * 1024;

/** Every setting. The command line, its help, `config` and the settings page come from this table. */
export const settings = {
  listen: setting("listen HOST:PORT", "127.0.0.1:3000", "where POST /plants is served", parseAddress),
  operatorListen: setting(
    "operator-listen HOST:PORT",
    "127.0.0.1:3001",
    "where the console and the operator's API are served, or off",
    (text) => (text === "off" ? undefined : parseAddress(text)),
  ),
  database: setting(
    "database PATH|URL",
    "data/plant-store.db",
    "the data file, or postgres://host/database",
    parseDatabase,
  ),
  allowUnsafeDatabase: setting(
    "allow-unsafe-database YES|NO",
    "no",
    "yes to use a PostgreSQL server that can lose acknowledged writes",
    (text) => parseYesNo(text) === "yes",
  ),
  baseUrl: optional(
    "base-url URL",
    "the public URL, if clients reach the service through a proxy or under a path",
    parseBaseUrl,
  ),
  bodyBytesMax: setting(
    "max-body-bytes BYTES",
    "65536",
    "the largest request body accepted",
    countFrom(64, bodyBytesMaxMax),
  ),
  pendingMax: setting(
    "max-pending COUNT",
    "10000",
    "how many plants may be pending",
    countFrom(1, 1_000_000),
  ),
  bodyTimeoutMs: setting(
    "body-timeout TIME",
    "10s",
    "how long a body may take to arrive",
    durationFrom(1, bodyTimeoutMsMax, "from 1ms to 1h, such as 10s"),
  ),
  rateLimit: setting(
    "rate-limit COUNT/UNIT",
    "none",
    "creates allowed for each token, such as 100/s",
    parseRate,
  ),
  drainDelayMs: setting(
    "drain-delay TIME",
    "0s",
    "how long to keep serving, marked unready, before stopping",
    parseDrainTime,
  ),
  drainTimeoutMs: setting(
    "drain-timeout TIME",
    "10s",
    "how long a stop waits for requests in flight",
    parseDrainTime,
  ),
  logLevel: setting(
    "log-level LEVEL",
    "info",
    "debug, info, warn, error or off",
    oneOf(["debug", "info", "warn", "error", "off"]),
  ),
  logFormat: setting(
    "log-format FORMAT",
    "auto",
    "pretty, json, or auto: pretty on a terminal",
    oneOf(["auto", "pretty", "json"]),
  ),
  logRequests: setting(
    "log-requests WHICH",
    "errors",
    "all, errors or none",
    oneOf(["all", "errors", "none"]),
  ),
  trustedProxies: setting(
    "trusted-proxies ADDRESSES",
    "",
    "proxies whose X-Forwarded-For is read: addresses or CIDR ranges",
    parseNetworks,
  ),
  operatorHosts: setting(
    "operator-hosts NAMES",
    "",
    "additional host names for the operator listener",
    parseHosts,
  ),
  corsOrigins: setting(
    "cors-origins ORIGINS",
    "",
    "origins whose pages may call the public listener, such as https://example.org",
    parseOrigins,
  ),
  tlsCert: optional("tls-cert PATH", "the certificate chain in PEM; both listeners then use TLS", String),
  tlsKey: optional("tls-key PATH", "the certificate's private key in PEM", String),
  tlsClientCa: optional(
    "tls-client-ca PATH",
    "require clients of the public listener to have a certificate from this CA",
    String,
  ),
  tokenFolder: optional(
    "token-folder PATH",
    "the folder for the first token's file, if not beside the data file",
    String,
  ),
  oidcIssuer: optional(
    "oidc-issuer URL",
    "the identity provider whose JWT access tokens are accepted",
    parseIssuer,
  ),
  oidcAudience: optional("oidc-audience NAME", "the audience that those tokens must have", parseProviderName),
  oidcClientId: optional(
    "oidc-client-id NAME",
    "the console's client at the identity provider, to sign in there",
    parseProviderName,
  ),
  backupFolder: optional(
    "backup-folder PATH",
    "an existing folder with the backups of this store; the console makes its own there",
    String,
  ),
} as const;

export type SettingName = keyof typeof settings;

/** Every setting, by what a person looks for: the headings of the help, and of the settings in the console. */
export const settingGroups: Readonly<Record<string, readonly SettingName[]>> = {
  Listening: ["listen", "operatorListen", "baseUrl", "tlsCert", "tlsKey", "tlsClientCa"],
  Storage: ["database", "allowUnsafeDatabase", "backupFolder"],
  Access: [
    "tokenFolder",
    "oidcIssuer",
    "oidcAudience",
    "oidcClientId",
    "trustedProxies",
    "operatorHosts",
    "corsOrigins",
  ],
  Limits: ["bodyBytesMax", "bodyTimeoutMs", "pendingMax", "rateLimit"],
  Stopping: ["drainDelayMs", "drainTimeoutMs"],
  Logs: ["logLevel", "logFormat", "logRequests"],
};

/** The heading under which a setting is. */
export function groupOf(name: SettingName): string {
  const [group = ""] = Object.entries(settingGroups).find(([, names]) => names.includes(name)) ?? [];
  return group;
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
} as const;

export type SecretName = keyof typeof secrets;

export const secretNames = Object.keys(secrets) as readonly SecretName[];

/** `usage` is the flag and what stands for its value, such as `listen HOST:PORT`. */
function setting<Value>(
  usage: string,
  defaultText: string,
  help: string,
  parse: Parser<Value>,
): Setting<Value> {
  const [flag = "", placeholder = ""] = usage.split(" ");
  const environment = `PLANT_STORE_${flag.replaceAll("-", "_").toUpperCase()}`;
  return { flag, environment, default: defaultText, placeholder, help, parse };
}

/** A setting that is undefined unless it is set. */
function optional<Value>(usage: string, help: string, parse: Parser<Value>) {
  return setting(usage, "", help, (text) => (text === "" ? undefined : parse(text)));
}
