import type { PresetToken } from "../access/gate.ts";
import type { OidcSettings } from "../access/jwt-verifier.ts";
import type { Scope } from "../access/scopes.ts";
import { bearerShape, digestOf, isMistyped, jwtShape } from "../access/token-secret.ts";
import { describeFileError } from "../system/errors.ts";
import { describeInvalid, InvalidValue, type Parser } from "../text/parsers.ts";
import { groupOf, type SecretName, type Setting, type SettingName, secrets, settings } from "./settings.ts";
import { ConfigProblem, withoutPassword } from "./values.ts";

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

/** Where the value of a setting came from. */
export type SettingSource = "flag" | "environment" | "file" | "default";

/** One line of `plant-store config`: what is in force, and where it came from. Secrets are listed without their value. */
export interface EffectiveSetting {
  readonly name: string;
  /** The heading under which it is listed. */
  readonly group: string;
  /** What it is for, in one phrase. */
  readonly meaning: string;
  readonly value: string;
  readonly source: SettingSource;
}

export interface ConfigSources {
  /** Flags by their name without dashes. */
  readonly flags: Readonly<Record<string, string | undefined>>;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly readFile: (path: string) => string;
}

interface Found {
  readonly text: string;
  readonly source: SettingSource;
  /** The flag or the variable that set it, for error messages. */
  readonly label: string;
}

const presetCharactersMin = 20;
const bearerCharacters = "characters out of A-Z a-z 0-9 - . _ ~ + / with = only at its end";

export function readConfig(sources: ConfigSources): Config {
  const values = mapValues(findSettings(sources), (setting, name) =>
    readFound<unknown>(setting, settings[name].parse),
  ) as SettingValues;
  return {
    ...values,
    tls: readTls(values),
    oidc: readOidc(values),
  };
}

/** The configuration of a command that opens the store. */
export function readStoreConfig(sources: ConfigSources): StoreConfig {
  return { ...readConfig(sources), databasePassword: readDatabasePassword(sources) };
}

/** The configuration of the service, for `serve`, and for commands that say whether it would start. */
export function readServiceConfig(sources: ConfigSources): ServiceConfig {
  return collectServiceConfig(sources).read();
}

/** What is in force, valid or not, and the configuration that it makes. */
export function collectServiceConfig(sources: ConfigSources) {
  // Once: the file of a token may be a pipe.
  const foundSecrets = findSecrets(sources);
  const effective = presentSettings(findSettings(sources), foundSecrets);
  return {
    effective,
    /** @throws ConfigProblem a value is invalid. */
    read(): ServiceConfig {
      const config = readStoreConfig(sources);
      return {
        ...config,
        presetTokens: readPresetTokens(foundSecrets, config.oidc !== undefined),
        effective,
      };
    },
  };
}

/** The access token, for a command that sends it: one of any service, so it may be short or a JWT. */
export function readAccessToken(sources: ConfigSources): string | undefined {
  const found = findSecret(secrets.accessToken.variable, sources);
  if (found === undefined) return undefined;
  if (!bearerShape.test(found.text))
    throw new ConfigProblem(`${found.label} must hold a token of ${bearerCharacters}.`);
  refuseMistyped(found);
  return found.text;
}

/** The files that hold these secrets. */
export function secretFiles(
  names: readonly SecretName[],
  environment: ConfigSources["environment"],
): string[] {
  return names.flatMap((name) => environment[`${secrets[name].variable}_FILE`] || []);
}

/** Variables with our prefix that are not settings. */
export function unknownVariables(environment: ConfigSources["environment"]): string[] {
  const known = [
    ...Object.values(settings).map((setting) => setting.environment),
    ...Object.values(secrets).flatMap(({ variable }) => [variable, `${variable}_FILE`]),
  ];
  // Kubernetes sets such variables in every pod if there is a service named plant-store.
  const fromKubernetes = /^PLANT_STORE_(?:SERVICE_(?:HOST|PORT)|PORT(?:_\d+_(?:TCP|UDP))?)(?:_\w+)?$/;
  return Object.keys(environment).filter(
    (name) => name.startsWith("PLANT_STORE_") && !known.includes(name) && !fromKubernetes.test(name),
  );
}

function readTls({ tlsCert: cert, tlsKey: key, tlsClientCa: clientCa }: SettingValues): Config["tls"] {
  if (cert !== undefined && key !== undefined) return { cert, key, clientCa };
  if (cert !== undefined) throw missingFlagProblem("--tls-cert", "--tls-key");
  if (key !== undefined) throw missingFlagProblem("--tls-key", "--tls-cert");
  if (clientCa !== undefined) throw missingFlagProblem("--tls-client-ca", "--tls-cert and --tls-key");
  return undefined;
}

function readOidc(values: SettingValues): Config["oidc"] {
  const { oidcIssuer: issuer, oidcAudience: audience, oidcClientId: clientId, operatorListen } = values;
  if (issuer === undefined && audience !== undefined)
    throw missingFlagProblem("--oidc-audience", "--oidc-issuer");
  if (issuer === undefined && clientId !== undefined)
    throw missingFlagProblem("--oidc-client-id", "--oidc-issuer");
  if (issuer === undefined) return undefined;
  if (audience === undefined)
    throw missingFlagProblem(
      "--oidc-issuer",
      "--oidc-audience: without it, a token for any other service of that issuer would be accepted",
    );
  if (clientId !== undefined && operatorListen === undefined)
    throw new ConfigProblem("--oidc-client-id is for the console, which --operator-listen off turns off.");
  return { issuer, audience, clientId };
}

/** `missing` may end with the reason. */
function missingFlagProblem(flag: string, missing: string): ConfigProblem {
  return new ConfigProblem(`${flag} needs ${missing}.`);
}

function readDatabasePassword(sources: ConfigSources): StoreConfig["databasePassword"] {
  const find = () => findSecret(secrets.databasePassword.variable, sources);
  const found = find();
  if (found?.source === "file") return () => find()?.text ?? "";
  return found?.text ?? (sources.environment["PGPASSWORD"] || undefined);
}

type FoundSettings = Readonly<Record<SettingName, Found>>;
type FoundSecrets = Readonly<Record<SecretName, Found | undefined>>;

function findSettings(sources: ConfigSources): FoundSettings {
  return mapValues(settings, (setting) => findSetting(setting, sources));
}

function findSecrets(sources: ConfigSources): FoundSecrets {
  return mapValues(secrets, ({ variable }) => findSecret(variable, sources));
}

function presentSettings(foundSettings: FoundSettings, foundSecrets: FoundSecrets): EffectiveSetting[] {
  const plain = mapValues(foundSettings, ({ text, source }, name) => ({
    name: settings[name].flag,
    group: groupOf(name),
    meaning: settings[name].help,
    value: withoutPassword(text),
    source,
  }));
  const hidden = mapValues(foundSecrets, (secret, name) => ({
    name: secrets[name].variable,
    group: "Secrets",
    meaning: secrets[name].meaning,
    value: secret === undefined ? "" : "(set, not shown)",
    source: secret?.source ?? "default",
  }));
  return [...Object.values(plain), ...Object.values(hidden)];
}

function mapValues<Name extends string, Value, Result>(
  record: Readonly<Record<Name, Value>>,
  map: (value: Value, name: Name) => Result,
): Record<Name, Result> {
  const entries = Object.entries(record) as [Name, Value][];
  return Object.fromEntries(entries.map(([name, value]) => [name, map(value, name)])) as Record<Name, Result>;
}

function findSetting(
  { flag, environment: variable, default: text }: Setting<unknown>,
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
  if (text && path) throw new ConfigProblem(`${variable} and ${fileVariable} are both set; set one of them.`);
  if (text) return { text, source: "environment", label: variable };
  if (!path) return undefined;
  try {
    return { text: readFile(path).trim(), source: "file", label: fileVariable };
  } catch (error) {
    throw new ConfigProblem(
      `${fileVariable} names ${path}, which cannot be read: ${describeFileError(error)}.`,
    );
  }
}

function readFound<Value>({ text, label }: Found, parse: Parser<Value>): Value {
  try {
    return parse(text);
  } catch (error) {
    if (error instanceof InvalidValue)
      throw new ConfigProblem(`${describeInvalid(label, error, withoutPassword(text))}.`);
    throw error;
  }
}

function readPresetTokens({ accessToken, operatorToken }: FoundSecrets, acceptsJwts: boolean): PresetToken[] {
  const access = accessToken && readPreset("preset-access", "plants:create", accessToken, acceptsJwts);
  const operator = operatorToken && readPreset("preset-operator", "operator", operatorToken, acceptsJwts);
  // The same secret may be given for both; it is then one caller with both scopes.
  if (access !== undefined && access.digest === operator?.digest)
    return [{ ...access, name: "preset", scopes: [...access.scopes, ...operator.scopes] }];
  return [access, operator].filter((token) => token !== undefined);
}

function readPreset(name: string, scope: Scope, { text, label }: Found, acceptsJwts: boolean): PresetToken {
  if (text.length < presetCharactersMin || !bearerShape.test(text))
    throw new ConfigProblem(
      `${label} must hold a token of at least ${presetCharactersMin} ${bearerCharacters}.`,
    );
  refuseMistyped({ text, label });
  if (acceptsJwts && jwtShape.test(text))
    throw new ConfigProblem(
      `${label} holds a token in three parts with dots between them, which --oidc-issuer makes a JWT; choose another.`,
    );
  return { name, scopes: [scope], digest: digestOf(text), expiresAtMs: undefined };
}

function refuseMistyped({ text, label }: Pick<Found, "text" | "label">): void {
  if (isMistyped(text))
    throw new ConfigProblem(
      `${label} begins with pst_ but its checksum is wrong: it was mistyped or truncated.`,
    );
}
