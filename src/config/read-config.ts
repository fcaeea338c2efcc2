import type { PresetToken } from "../access/gate.ts";
import type { OidcSettings } from "../access/provider-keys.ts";
import type { Scope } from "../access/scopes.ts";
import { bearerShape, digestOf, isMistyped, jwtShape } from "../access/token-secret.ts";
import { describeFileError } from "../system/errors.ts";
import type { Address } from "../system/ip-address.ts";
import { misuse } from "../system/problem.ts";
import { describeInvalid, InvalidValue, type Parser } from "../text/parsers.ts";
import { withoutPassword } from "./database.ts";
import {
  type Secret,
  type SecretName,
  type Setting,
  type SettingName,
  secrets,
  settingNames,
  settings,
} from "./settings.ts";

/** The value of each setting. */
type SettingValues = { readonly [Name in SettingName]: ReturnType<(typeof settings)[Name]["parse"]> };

export type Config = SettingValues & {
  /** The files of TLS; undefined for plain text. */
  readonly tls:
    | { readonly cert: string; readonly key: string; readonly clientCa: string | undefined }
    | undefined;
  /** The identity provider, if there is one. */
  readonly oidc: OidcSettings | undefined;
};

/** What a command that opens the store needs in addition: others must not fail for a password that they never use. */
export type StoreConfig = Config & {
  /** A function if it comes from a file, which is read again each time it is needed. */
  readonly databasePassword: string | (() => string) | undefined;
};

/** What the service needs in addition: commands must not fail for a token that they never use. */
export type ServiceConfig = StoreConfig & {
  readonly presetTokens: readonly PresetToken[];
  /** What `plant-store config` prints. */
  readonly effective: readonly EffectiveSetting[];
};

/** One line of `plant-store config`: what is in force, and where it came from. Secrets are listed without their value. */
export interface EffectiveSetting {
  readonly name: string;
  /** The heading under which it is listed. */
  readonly group: string;
  /** What it is for, in one phrase. */
  readonly meaning: string;
  readonly value: string;
  /** Where the value came from. */
  readonly source: "flag" | "environment" | "file" | "default";
}

export interface ConfigSources {
  /** Flags by their name without dashes. */
  readonly flags: Readonly<Record<string, string | undefined>>;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly readFile: (path: string) => string;
}

interface Found {
  readonly text: string;
  readonly source: EffectiveSetting["source"];
  /** The flag or the variable that set it, for error messages. */
  readonly label: string;
}

// What a setting needs, since it is of no use alone, or for the reason that follows.
const dependencies: readonly (readonly [name: SettingName, needed: SettingName, reason?: string])[] = [
  ["tlsCert", "tlsKey"],
  ["tlsKey", "tlsCert"],
  ["tlsClientCa", "tlsCert"],
  ["oidcAudience", "oidcIssuer"],
  ["oidcClientId", "oidcIssuer"],
  [
    "oidcIssuer",
    "oidcAudience",
    ": without it, a token for any other service of that issuer would be accepted",
  ],
];
const presetCharactersMin = 20;

export function readConfig(sources: ConfigSources): Config {
  const values = Object.fromEntries(
    settingNames.map((name) => [name, readSetting(settings[name], sources)]),
  ) as SettingValues;
  refuseIncomplete(values);
  return { ...values, tls: readTls(values), oidc: readOidc(values) };
}

/** The configuration of a command that opens the store. */
export function readStoreConfig(sources: ConfigSources): StoreConfig {
  return { ...readConfig(sources), databasePassword: readDatabasePassword(sources) };
}

/** The configuration of the service, for `serve`, and for commands that say whether it would start. */
export function readServiceConfig(sources: ConfigSources): ServiceConfig {
  const config = readStoreConfig(sources);
  return {
    ...config,
    presetTokens: readPresetTokens(sources, config.oidc !== undefined),
    effective: effectiveSettings(sources),
  };
}

/** What is in force, valid or not. The files of secrets are not read. */
export function effectiveSettings(sources: ConfigSources): EffectiveSetting[] {
  const plain = Object.values(settings).map((setting) => {
    const { text, source } = findSetting(setting, sources);
    const { flag: name, group, help: meaning } = setting;
    return { name, group, meaning, value: withoutPassword(text), source };
  });
  const hidden = Object.values(secrets).map(({ variable: name, meaning }) => {
    const source = sourceOfSecret(name, sources);
    const value = source === "default" ? "" : "(set, not shown)";
    return { name, group: "Secrets", meaning, value, source };
  });
  return [...plain, ...hidden];
}

/** The access token, for a command that sends it: one of any service, so it may be short or a JWT. */
export function readAccessToken(sources: ConfigSources): string | undefined {
  return readToken("accessToken", 1, sources)?.text;
}

/** The files that hold these secrets. */
export function secretFiles(used: readonly Secret[], environment: ConfigSources["environment"]): string[] {
  return used.flatMap(({ variable }) => environment[`${variable}_FILE`] || []);
}

/** The value of a flag, a variable or an argument. @throws Problem the text of `name` is invalid */
export function parseNamed<Value>(name: string, text: string, parse: Parser<Value>): Value {
  try {
    return parse(text);
  } catch (error) {
    if (error instanceof InvalidValue)
      throw misuse(`${describeInvalid(name, error, withoutPassword(text))}.`);
    throw error;
  }
}

/** Variables with our prefix that are not settings. */
export function unknownVariables(environment: ConfigSources["environment"]): string[] {
  const known = [
    ...Object.values(settings).map(({ variable }) => variable),
    ...Object.values(secrets).flatMap(({ variable }) => [variable, `${variable}_FILE`]),
  ];
  // Kubernetes sets such variables in every pod if there is a service named plant-store.
  const fromKubernetes = /^PLANT_STORE_(?:SERVICE_(?:HOST|PORT)|PORT(?:_\d+_(?:TCP|UDP))?)(?:_\w+)?$/;
  return Object.keys(environment).filter(
    (name) => name.startsWith("PLANT_STORE_") && !known.includes(name) && !fromKubernetes.test(name),
  );
}

function refuseIncomplete(values: SettingValues): void {
  for (const [name, needed, reason = ""] of dependencies) {
    if (values[name] !== undefined && values[needed] === undefined)
      throw misuse(`--${settings[name].flag} needs --${settings[needed].flag}${reason}.`);
  }
  if (values.operatorListen !== undefined && overlap(values.listen, values.operatorListen))
    throw misuse("--listen and --operator-listen are the same address; choose another port for one of them.");
  if (values.oidcClientId !== undefined && values.operatorListen === undefined)
    throw misuse("--oidc-client-id is for the console, which --operator-listen off turns off.");
}

/** Whether two listeners would have one address. A wildcard is every address. */
function overlap(one: Address, other: Address): boolean {
  if (one.port !== other.port || one.port === 0) return false;
  return (
    one.host === other.host || [one.host, other.host].some((host) => host === "0.0.0.0" || host === "::")
  );
}

function readTls({ tlsCert: cert, tlsKey: key, tlsClientCa: clientCa }: SettingValues): Config["tls"] {
  return cert === undefined || key === undefined ? undefined : { cert, key, clientCa };
}

function readOidc(values: SettingValues): Config["oidc"] {
  const { oidcIssuer: issuer, oidcAudience: audience, oidcClientId: clientId } = values;
  return issuer === undefined || audience === undefined ? undefined : { issuer, audience, clientId };
}

function readDatabasePassword(sources: ConfigSources): StoreConfig["databasePassword"] {
  const find = () => findSecret(secrets.databasePassword.variable, sources);
  const found = find();
  if (found?.source === "file") return () => find()?.text ?? "";
  return found?.text ?? (sources.environment["PGPASSWORD"] || undefined);
}

function findSetting(
  { flag, variable, default: text }: Setting<unknown>,
  { flags, environment }: ConfigSources,
): Found {
  const fromFlag = flags[flag];
  if (fromFlag !== undefined) return { text: fromFlag, source: "flag", label: `--${flag}` };
  const fromEnvironment = environment[variable];
  // A compose file passes an unset variable as an empty one, so empty counts as unset.
  if (fromEnvironment) return { text: fromEnvironment, source: "environment", label: variable };
  return { text, source: "default", label: `--${flag}` };
}

function findSecret(variable: string, { environment, readFile }: ConfigSources): Found | undefined {
  const fileVariable = `${variable}_FILE`;
  const text = environment[variable];
  const path = environment[fileVariable];
  if (text && path) throw misuse(`${variable} and ${fileVariable} are both set; set one of them.`);
  if (text) return { text, source: "environment", label: variable };
  if (!path) return undefined;
  try {
    return { text: readFile(path).trim(), source: "file", label: fileVariable };
  } catch (error) {
    throw misuse(`${fileVariable} names ${path}, which cannot be read: ${describeFileError(error)}.`);
  }
}

function sourceOfSecret(variable: string, { environment }: ConfigSources): EffectiveSetting["source"] {
  if (environment[variable]) return "environment";
  return environment[`${variable}_FILE`] ? "file" : "default";
}

function readSetting(setting: Setting<unknown>, sources: ConfigSources): unknown {
  const { text, label } = findSetting(setting, sources);
  return parseNamed(label, text, setting.parse);
}

function readPresetTokens(sources: ConfigSources, acceptsJwts: boolean): PresetToken[] {
  const read = (secret: SecretName, name: string, scope: Scope): PresetToken[] => {
    const token = readToken(secret, presetCharactersMin, sources);
    if (token === undefined) return [];
    if (acceptsJwts && jwtShape.test(token.text))
      throw misuse(
        `${token.label} holds a token in three parts with dots between them, which --oidc-issuer makes a JWT; choose another.`,
      );
    return [{ name, scopes: [scope], digest: digestOf(token.text), expiresAtMs: undefined }];
  };
  const presets = [
    ...read("accessToken", "preset-access", "plants:create"),
    ...read("operatorToken", "preset-operator", "operator"),
  ];
  const [access, operator] = presets;
  // The same secret may be given for both; it is then one caller with both scopes.
  if (access !== undefined && access.digest === operator?.digest)
    return [{ ...access, name: "preset", scopes: [...access.scopes, ...operator.scopes] }];
  return presets;
}

function readToken(secret: SecretName, charactersMin: number, sources: ConfigSources): Found | undefined {
  const found = findSecret(secrets[secret].variable, sources);
  if (found === undefined) return undefined;
  const { text, label } = found;
  if (text.length < charactersMin || !bearerShape.test(text))
    throw misuse(
      `${label} must hold a token of at least ${charactersMin} of the characters A-Z a-z 0-9 - . _ ~ + / with = only at its end.`,
    );
  if (isMistyped(text))
    throw misuse(`${label} begins with pst_ but its checksum is wrong: it was mistyped or truncated.`);
  return found;
}
