import type { PresetToken } from "../access/gate.ts";
import type { OidcSettings } from "../access/oidc/jwt-caller.ts";
import type { Scope } from "../access/scopes.ts";
import {
  bearerShape,
  claimsToBeMinted,
  digestOf,
  isMintedSecret,
  jwtShape,
  presetCharactersMin,
} from "../access/secret.ts";
import { type SecretName, type SettingName, secrets, settings } from "./settings.ts";
import { ConfigProblem, InvalidValue } from "./values.ts";
import { withoutPassword } from "./without-password.ts";

type Values = { readonly [Name in SettingName]: ReturnType<(typeof settings)[Name]["parse"]> };

export type Config = Omit<Values, `tls${string}` | `oidc${string}`> & {
  /** Undefined for plain text. */
  readonly tls:
    | { readonly cert: string; readonly key: string; readonly clientCa: string | undefined }
    | undefined;
  /** Undefined if there is no identity provider. */
  readonly oidc: OidcSettings | undefined;
  readonly presetTokens: readonly PresetToken[];
  /** A function if it comes from a file, which is read again each time it is needed. */
  readonly databasePassword: string | (() => string) | undefined;
  /** What `plant-store config` prints. */
  readonly effective: readonly EffectiveSetting[];
};

export type Source = "flag" | "environment" | "file" | "default";

/** One line of `plant-store config`: what is in force, and where it came from. Secrets are listed without their value. */
export interface EffectiveSetting {
  readonly name: string;
  readonly value: string;
  readonly source: Source;
}

export interface ConfigSources {
  /** Flags by their name without dashes. */
  readonly flags: Readonly<Record<string, string | undefined>>;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly readFile: (path: string) => string;
}

type PresetName = Exclude<SecretName, "databasePassword">;

interface Found {
  readonly text: string;
  readonly source: Source;
  /** The flag or the variable that set it, for error messages. */
  readonly label: string;
}

const presets: Record<PresetName, { name: string; scopes: readonly Scope[] }> = {
  accessToken: { name: "preset-access", scopes: ["plants:create"] },
  operatorToken: { name: "preset-operator", scopes: ["operator"] },
};

const presetNames = Object.keys(presets) as PresetName[];

export function readConfig(sources: ConfigSources): Config {
  const values = Object.entries(settings).map(([name, setting]) => {
    const found = findSetting(name as SettingName, sources);
    return [name, parseFound<unknown>(found, setting.parse)] as const;
  });
  const { tlsCert, tlsKey, tlsClientCa, oidcIssuer, oidcAudience, oidcClientId, ...others } =
    Object.fromEntries(values) as Values;
  const oidc = oidcSettings(oidcIssuer, oidcAudience, oidcClientId);
  if (oidc?.clientId !== undefined && others.operatorListen === undefined)
    throw new ConfigProblem("--oidc-client-id is for the console, which --operator-listen off turns off.");
  const tokens = presetNames.flatMap((name) => presetToken(name, sources, oidc !== undefined));
  return {
    ...others,
    tls: tlsFiles(tlsCert, tlsKey, tlsClientCa),
    oidc,
    presetTokens: mergePresets(tokens),
    databasePassword: databasePassword(sources),
    effective: effectiveSettings(sources),
  };
}

export function effectiveSettings(sources: ConfigSources): EffectiveSetting[] {
  const plain = Object.entries(settings).map(([name, { flag }]) => {
    const { text, source } = findSetting(name as SettingName, sources);
    return { name: flag, value: withoutPassword(text), source };
  });
  const hidden = Object.entries(secrets).map(([name, variable]) => {
    const found = findSecret(name as SecretName, sources);
    return {
      name: variable,
      value: found === undefined ? "" : "(set, not shown)",
      source: found?.source ?? "default",
    };
  });
  return [...plain, ...hidden];
}

/** A secret as it was given, for a command that has to send it. `readConfig` validates it. */
export function readSecret(name: SecretName, sources: ConfigSources): string | undefined {
  return findSecret(name, sources)?.text;
}

/** The files that hold secrets. */
export function secretFiles(environment: ConfigSources["environment"]): string[] {
  return Object.values(secrets).flatMap((variable) => environment[`${variable}_FILE`] || []);
}

/** Variables with our prefix that are not settings. */
export function unknownVariables(environment: ConfigSources["environment"]): string[] {
  const known = [
    ...Object.values(settings).map((setting) => setting.environment),
    ...Object.values(secrets).flatMap((variable) => [variable, `${variable}_FILE`]),
  ];
  // Kubernetes sets such variables in every pod if there is a service named plant-store.
  const fromKubernetes = /^PLANT_STORE_(?:SERVICE_(?:HOST|PORT)|PORT(?:_\d+_(?:TCP|UDP))?)(?:_\w+)?$/;
  return Object.keys(environment).filter(
    (name) => name.startsWith("PLANT_STORE_") && !known.includes(name) && !fromKubernetes.test(name),
  );
}

function tlsFiles(
  cert: string | undefined,
  key: string | undefined,
  clientCa: string | undefined,
): Config["tls"] {
  const needs = (set: string, missing: string) => new ConfigProblem(`${set} needs ${missing} as well.`);
  if (cert !== undefined && key !== undefined) return { cert, key, clientCa };
  if (cert !== undefined) throw needs("--tls-cert", "--tls-key");
  if (key !== undefined) throw needs("--tls-key", "--tls-cert");
  if (clientCa !== undefined) throw needs("--tls-client-ca", "--tls-cert and --tls-key");
  return undefined;
}

function oidcSettings(
  issuer: string | undefined,
  audience: string | undefined,
  clientId: string | undefined,
): Config["oidc"] {
  if (issuer !== undefined && audience !== undefined) return { issuer, audience, clientId };
  if (issuer !== undefined)
    throw new ConfigProblem(
      "--oidc-issuer needs --oidc-audience: without it, a token for any other service of that issuer would be accepted.",
    );
  if (audience !== undefined) throw new ConfigProblem("--oidc-audience needs --oidc-issuer.");
  if (clientId !== undefined) throw new ConfigProblem("--oidc-client-id needs --oidc-issuer.");
  return undefined;
}

// Read here too, so that an unreadable file fails the start.
function databasePassword(sources: ConfigSources): Config["databasePassword"] {
  const find = () => findSecret("databasePassword", sources);
  const found = find();
  if (found?.source === "file") return () => find()?.text ?? "";
  return found?.text ?? (sources.environment["PGPASSWORD"] || undefined);
}

function findSetting(name: SettingName, { flags, environment }: ConfigSources): Found {
  const { flag, environment: variable, default: text } = settings[name];
  const fromFlag = flags[flag];
  if (fromFlag !== undefined) return { text: fromFlag, source: "flag", label: `--${flag}` };
  const fromEnvironment = environment[variable];
  // A compose file passes an unset variable as an empty one, so empty counts as unset.
  if (fromEnvironment) return { text: fromEnvironment, source: "environment", label: variable };
  return { text, source: "default", label: `--${flag}` };
}

function findSecret(name: SecretName, { environment, readFile }: ConfigSources): Found | undefined {
  const label = secrets[name];
  const fileLabel = `${label}_FILE`;
  const text = environment[label];
  const path = environment[fileLabel];
  if (text && path) throw new ConfigProblem(`${label} and ${fileLabel} are both set; set one of them.`);
  if (text) return { text, source: "environment", label };
  if (!path) return undefined;
  try {
    return { text: readFile(path).trim(), source: "file", label: fileLabel };
  } catch (error) {
    throw new ConfigProblem(`${fileLabel} names a file that cannot be read: ${(error as Error).message}.`);
  }
}

function parseFound<Value>({ text, label }: Found, parse: (text: string) => Value): Value {
  try {
    return parse(text);
  } catch (error) {
    if (error instanceof InvalidValue)
      throw new ConfigProblem(`${label} ${error.message}; it is ${JSON.stringify(withoutPassword(text))}.`);
    throw error;
  }
}

function presetToken(name: PresetName, sources: ConfigSources, withJwts: boolean): PresetToken[] {
  const found = findSecret(name, sources);
  if (found === undefined) return [];
  const { text, label } = found;
  if (text.length < presetCharactersMin || !bearerShape.test(text)) {
    throw new ConfigProblem(
      `${label} must hold a token of at least ${presetCharactersMin} characters out of A-Z a-z 0-9 - . _ ~ + / with = only at its end.`,
    );
  }
  if (claimsToBeMinted(text) && !isMintedSecret(text)) {
    throw new ConfigProblem(
      `${label} begins with pst_ but its checksum is wrong: it was mistyped or truncated.`,
    );
  }
  if (withJwts && jwtShape.test(text)) {
    throw new ConfigProblem(
      `${label} holds a token in three parts with dots between them, which --oidc-issuer makes a JWT; choose another.`,
    );
  }
  return [{ ...presets[name], digest: digestOf(text), expiresAtMs: undefined }];
}

// The same secret may be given for both; it is then one caller with both scopes.
function mergePresets(tokens: readonly PresetToken[]): PresetToken[] {
  const [first, second] = tokens;
  if (first === undefined || second === undefined || first.digest !== second.digest) return [...tokens];
  return [{ ...first, name: "preset", scopes: [...first.scopes, ...second.scopes] }];
}
