import { isIP } from "node:net";
import type { Rate } from "../access/rate-limit.ts";
import { type Address, isLoopbackHttp, portMax } from "../system/ip-address.ts";
import { hourMs, minuteMs } from "../text/duration.ts";
import { InvalidValue } from "../text/parsers.ts";

/** An invalid setting; the message names it. */
export class ConfigProblem extends Error {
  override readonly name = "ConfigProblem";
}

export function parseAddress(text: string): Address {
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]]*)):(\d{1,5})$/.exec(text);
  const port = Number(match?.[3]);
  if (match === null || port > portMax)
    throw new InvalidValue("must be HOST:PORT, such as 127.0.0.1:3000 or [::1]:3000");
  return { host: match[1] ?? (match[2] || "0.0.0.0"), port };
}

const rateUnitMs = { s: 1000, m: minuteMs, h: hourMs } as const;

export function parseRate(text: string): Rate | undefined {
  if (text === "none") return undefined;
  const match = /^([1-9]\d{0,8})\/(s|m|h)$/.exec(text);
  if (match === null)
    throw new InvalidValue("must be a count per second, minute or hour, such as 100/s, or none");
  return { count: Number(match[1]), perMs: rateUnitMs[match[2] as keyof typeof rateUnitMs] };
}

export function parseDatabase(text: string): string {
  // As a path, a mistyped URL would start an empty store, with the password in its name.
  const resemblesUrl = /^\s*(?:[a-z][a-z0-9+.-]+:\/\/|postgres(?:ql)?(?::|\/\/))/i.test(text);
  if (text === "" || (resemblesUrl && !/^postgres(?:ql)?:\/\//i.test(text)))
    throw new InvalidValue(
      "must be a path or a URL of PostgreSQL, such as data/plant-store.db or postgres://host/database",
    );
  return text;
}

export function parseBaseUrl(text: string): URL {
  const url = tryParsePlainUrl(text);
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    throw new InvalidValue(
      "must be an http or https URL without query or credentials, such as https://example.org/garden/v1",
    );
  }
  return url;
}

/** The issuer as it was typed: that of a token is compared with it character by character. */
export function parseIssuer(text: string): string {
  const url = tryParsePlainUrl(text);
  if (url === undefined || !(url.protocol === "https:" || isLoopbackHttp(url)))
    throw new InvalidValue(
      "must be an https URL without query or credentials, such as https://id.example.org (http only on loopback)",
    );
  return text;
}

/** A name that the identity provider knows, such as an audience. */
export function parseProviderName(text: string): string {
  if (!/^[\x21-\x7e]{0,255}$/.test(text))
    throw new InvalidValue("must be at most 255 visible ASCII characters");
  return text;
}

/** Addresses and CIDR ranges. */
export function parseNetworks(text: string): readonly string[] {
  const networks = splitList(text);
  if (!networks.every(isNetwork))
    throw new InvalidValue("must be addresses or CIDR ranges separated by commas, such as 10.0.0.0/8,::1");
  return networks;
}

/** Names without a port: the one in a request does not matter. */
export function parseHosts(text: string): readonly string[] {
  const hosts = splitList(text.toLowerCase());
  if (!hosts.every((host) => /^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/.test(host)))
    throw new InvalidValue(
      "must be host names without port, separated by commas, such as plants.example.org",
    );
  return hosts;
}

/** Origins as browsers send them: scheme, host and a port unless it is the scheme's default; or `*`. */
export function parseOrigins(text: string): readonly string[] {
  const origins = splitList(text);
  if (!origins.every((origin) => origin === "*" || URL.parse(origin)?.origin === origin))
    throw new InvalidValue("must be origins separated by commas, such as https://example.org, or *");
  return origins;
}

/** A database URL without its password, however it is written, even if the URL is not valid. */
export function withoutPassword(database: string): string {
  // Up to the last @, since a password may contain one; up to the last %40 if there is none.
  const end = database.includes("@") ? "@" : "%40";
  const login = new RegExp(`^(\\s*(?:(?:\\w+:)+/*|\\w+//)[^:@/?]*?)(:|%3a).*${end}`, "is");
  return database
    .replace(login, `$1$2***${end}`)
    .replace(
      /([?&#\s]|^)([^?&#\s=]+)(\s*=\s*)('(?:[^'\\]|\\.)*'|[^&\s]*)/g,
      (option, before, name, equals) => (isPassword(name) ? `${before}${name}${equals}***` : option),
    );
}

/** The items of a text, which commas separate. */
function splitList(text: string): string[] {
  return text === "" ? [] : text.split(",").map((item) => item.trim());
}

/** A URL without query, fragment and credentials; undefined if it has one of them, or is no URL. */
function tryParsePlainUrl(text: string): URL | undefined {
  const url = URL.parse(text);
  // A login may be a password alone.
  const isPlain =
    url !== null && [url.search, url.hash, url.username, url.password].every((part) => part === "");
  return isPlain ? url : undefined;
}

function isNetwork(text: string): boolean {
  const match = /^([0-9a-fA-F:.]+)(?:\/(\d{1,3}))?$/.exec(text);
  const family = isIP(match?.[1] ?? "");
  return family !== 0 && Number(match?.[2] ?? 0) <= (family === 6 ? 128 : 32);
}

/** Whether it is a password, as libpq and other drivers name it; a URL may encode its letters. */
function isPassword(name: string): boolean {
  const plain = name.replaceAll(/%([0-7][\da-f])/gi, (_, hex) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
  return /pass(?!file)|pwd|secret/i.test(plain);
}
