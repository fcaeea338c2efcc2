import { isIP } from "node:net";
import { InvalidValue } from "./values.ts";

/** Addresses and CIDR ranges, separated by commas. */
export function parseNetworks(text: string): string[] {
  const networks = parseList(text);
  if (!networks.every(isNetwork))
    throw new InvalidValue("must be addresses or CIDR ranges separated by commas, such as 10.0.0.0/8,::1");
  return networks;
}

/** Names without a port: the one in a request does not matter. */
export function parseHosts(text: string): string[] {
  const hosts = parseList(text).map((host) => host.toLowerCase());
  if (!hosts.every((host) => /^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/.test(host)))
    throw new InvalidValue(
      "must be host names without port, separated by commas, such as plants.example.org",
    );
  return hosts;
}

/** Origins as browsers send them: scheme, host and a port unless it is the scheme's default; or `*`. */
export function parseOrigins(text: string): string[] {
  const origins = parseList(text);
  if (
    !origins.every((origin) => origin === "*" || (URL.canParse(origin) && new URL(origin).origin === origin))
  )
    throw new InvalidValue("must be origins separated by commas, such as https://example.org, or *");
  return origins;
}

/** Undefined if there is none. */
export function parsePath(text: string): string | undefined {
  return text === "" ? undefined : text;
}

function parseList(text: string): string[] {
  return text === "" ? [] : text.split(",").map((item) => item.trim());
}

function isNetwork(text: string): boolean {
  const match = /^([0-9a-fA-F:.]+)(?:\/(\d{1,3}))?$/.exec(text);
  const family = isIP(match?.[1] ?? "");
  return family !== 0 && Number(match?.[2] ?? 0) <= (family === 6 ? 128 : 32);
}
