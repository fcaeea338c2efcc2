import {
  InvalidValue,
  parseAddress,
  parseBaseUrl,
  parseChoice,
  parseCount,
  parseDurationWithin,
  parseHosts,
  parseIssuer,
  parseNetworks,
  parseOrigins,
  parsePath,
  parseProviderName,
  parseRate,
} from "./values.ts";

export interface Setting<Value> {
  readonly flag: string;
  readonly environment: string;
  /** As a person would type it. */
  readonly default: string;
  readonly placeholder: string;
  readonly help: string;
  readonly parse: (text: string) => Value;
}

const bodyTimeoutMsMax = 3_600_000;
// A JavaScript timer longer than 2^31 - 1 ms, not quite 25 days, fires at once.
const drainMsMax = 24 * 86_400_000;
const bodyBytesMaxMax = 64 * 1024 * 1024;

/** Every setting. The command line, its help, `config` and the settings page come from this table. */
export const settings = {
  listen: setting("listen", "127.0.0.1:3000", "HOST:PORT", "where POST /plants is served", parseAddress),
  operatorListen: setting(
    "operator-listen",
    "127.0.0.1:3001",
    "HOST:PORT",
    "where the console and the operator's API are served, or off",
    (text) => (text === "off" ? undefined : parseAddress(text)),
  ),
  database: setting(
    "database",
    "data/plant-store.db",
    "PATH|URL",
    "the data file, or postgres://host/database",
    parseDatabase,
  ),
  allowUnsafeDatabase: setting(
    "allow-unsafe-database",
    "no",
    "YES|NO",
    "yes to use a PostgreSQL server that can lose acknowledged writes",
    (text) => parseChoice(text, ["yes", "no"]) === "yes",
  ),
  baseUrl: setting(
    "base-url",
    "",
    "URL",
    "the public URL, if clients reach the service through a proxy or under a path",
    parseBaseUrl,
  ),
  bodyBytesMax: setting("max-body-bytes", "65536", "BYTES", "the largest request body accepted", (text) =>
    parseCount(text, 64, bodyBytesMaxMax),
  ),
  pendingMax: setting("max-pending", "10000", "COUNT", "how many plants may be pending", (text) =>
    parseCount(text, 1, 1_000_000),
  ),
  bodyTimeoutMs: setting(
    "body-timeout",
    "10s",
    "TIME",
    "how long a body may take to arrive",
    parseBodyTimeout,
  ),
  rateLimit: setting(
    "rate-limit",
    "none",
    "COUNT/UNIT",
    "creates allowed for each token, such as 100/s",
    parseRate,
  ),
  drainDelayMs: setting(
    "drain-delay",
    "0s",
    "TIME",
    "how long to keep serving, unready, before stopping",
    parseDrainTime,
  ),
  drainTimeoutMs: setting(
    "drain-timeout",
    "10s",
    "TIME",
    "how long a stop waits for requests in flight",
    parseDrainTime,
  ),
  logLevel: setting("log-level", "info", "LEVEL", "debug, info, warn, error or off", (text) =>
    parseChoice(text, ["debug", "info", "warn", "error", "off"]),
  ),
  logFormat: setting("log-format", "auto", "FORMAT", "pretty, json, or auto: pretty on a terminal", (text) =>
    parseChoice(text, ["auto", "pretty", "json"]),
  ),
  logRequests: setting("log-requests", "errors", "WHICH", "all, errors or none", (text) =>
    parseChoice(text, ["all", "errors", "none"]),
  ),
  trustedProxies: setting(
    "trusted-proxies",
    "",
    "ADDRESSES",
    "proxies whose X-Forwarded-For is read: addresses or CIDR ranges",
    parseNetworks,
  ),
  operatorHosts: setting(
    "operator-hosts",
    "",
    "NAMES",
    "further host names under which the operator listener is reached",
    parseHosts,
  ),
  corsOrigins: setting(
    "cors-origins",
    "",
    "ORIGINS",
    "whose pages may call the public listener, such as https://example.org",
    parseOrigins,
  ),
  tlsCert: setting(
    "tls-cert",
    "",
    "PATH",
    "the certificate chain in PEM; both listeners then use TLS",
    parsePath,
  ),
  tlsKey: setting("tls-key", "", "PATH", "the certificate's private key in PEM", parsePath),
  tlsClientCa: setting(
    "tls-client-ca",
    "",
    "PATH",
    "clients of the public listener also need a certificate of this authority",
    parsePath,
  ),
  tokenFolder: setting(
    "token-folder",
    "",
    "PATH",
    "the folder for the first token's file, instead of the data file's",
    (text) => text,
  ),
  oidcIssuer: setting(
    "oidc-issuer",
    "",
    "URL",
    "the identity provider whose JWT access tokens are accepted",
    parseIssuer,
  ),
  oidcAudience: setting(
    "oidc-audience",
    "",
    "NAME",
    "the audience that those tokens must be for",
    parseProviderName,
  ),
  oidcClientId: setting(
    "oidc-client-id",
    "",
    "NAME",
    "the console's client at the identity provider, to sign in there",
    parseProviderName,
  ),
  backupFolder: setting(
    "backup-folder",
    "",
    "PATH",
    "an existing folder for the backups that operators make in the console",
    parsePath,
  ),
} as const;

export type SettingName = keyof typeof settings;

/** The variables of secrets, which come only from the environment, never from a flag: every user of a machine can see a command line. */
export const secrets = {
  accessToken: "PLANT_STORE_ACCESS_TOKEN",
  operatorToken: "PLANT_STORE_OPERATOR_TOKEN",
  databasePassword: "PLANT_STORE_DATABASE_PASSWORD",
} as const;

export type SecretName = keyof typeof secrets;

function setting<Value>(
  flag: string,
  defaultText: string,
  placeholder: string,
  help: string,
  parse: (text: string) => Value,
): Setting<Value> {
  const environment = `PLANT_STORE_${flag.replaceAll("-", "_").toUpperCase()}`;
  return { flag, environment, default: defaultText, placeholder, help, parse };
}

function parseDatabase(text: string): string {
  const example = "such as data/plant-store.db or postgres://host/database";
  if (text === "") throw new InvalidValue(`must be a path or a URL, ${example}`);
  if (/^[a-z][a-z0-9+.-]+:\/\//i.test(text) && !/^postgres(?:ql)?:\/\//i.test(text))
    throw new InvalidValue(`must be a path or a URL of PostgreSQL, ${example}`);
  return text;
}

function parseBodyTimeout(text: string): number {
  return parseDurationWithin(text, 1, bodyTimeoutMsMax, "from 1ms to 1h, such as 10s");
}

function parseDrainTime(text: string): number {
  return parseDurationWithin(text, 0, drainMsMax, "of at most 24d, such as 10s");
}
