import { isIP } from "node:net";
import type { Rate } from "../access/rate-limit.ts";
import { type Address, isLoopbackHttp, portMax } from "../system/ip-address.ts";
import { hourMs, minuteMs } from "../text/duration.ts";
import { expecting, type Parser } from "../text/parsers.ts";

const rateUnitMs = { s: 1000, m: minuteMs, h: hourMs } as const;

export const parseAddress = expecting(
  "must be HOST:PORT, such as 127.0.0.1:3000 or [::1]:3000",
  (text): Address | undefined => {
    const match = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]]*)):(\d{1,5})$/.exec(text);
    const port = Number(match?.[3]);
    return match === null || port > portMax ? undefined : { host: match[1] ?? (match[2] || "0.0.0.0"), port };
  },
);

export const parseRate = expecting(
  "must be a count per second, minute or hour, such as 100/s",
  (text): Rate | undefined => {
    const match = /^([1-9]\d{0,8})\/(s|m|h)$/.exec(text);
    return match === null
      ? undefined
      : { count: Number(match[1]), perMs: rateUnitMs[match[2] as keyof typeof rateUnitMs] };
  },
);

export const parseBaseUrl = expecting(
  "must be an http or https URL without query or credentials, such as https://example.org/garden/v1",
  (text) => {
    const url = tryParsePlainUrl(text);
    return url !== undefined && /^https?:$/.test(url.protocol) ? url : undefined;
  },
);

/** The issuer as it was typed: that of a token is compared with it character by character. */
export const parseIssuer = expecting(
  "must be an https URL without query or credentials, such as https://id.example.org (http only on loopback)",
  (text) => {
    const url = tryParsePlainUrl(text);
    return url !== undefined && (url.protocol === "https:" || isLoopbackHttp(url)) ? text : undefined;
  },
);

/** A name that the identity provider knows, such as an audience. */
export const parseProviderName = expecting("must be at most 255 visible ASCII characters", (text) =>
  /^[\x21-\x7e]{0,255}$/.test(text) ? text : undefined,
);

/** Addresses and CIDR ranges. */
export const parseNetworks = listOf(
  "must be addresses or CIDR ranges separated by commas, such as 10.0.0.0/8,::1",
  isNetwork,
);

const parseLowerCaseHosts = listOf(
  "must be host names without port, separated by commas, such as plants.example.org",
  (host) => /^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/.test(host),
);

/** Names without a port: the one in a request does not matter. */
export const parseHosts: typeof parseLowerCaseHosts = (text) => parseLowerCaseHosts(text.toLowerCase());

/** Origins as browsers send them: scheme, host and a port unless it is the scheme's default; or `*`. */
export const parseOrigins = listOf(
  "must be origins separated by commas, such as https://example.org, or *",
  (origin) => origin === "*" || URL.parse(origin)?.origin === origin,
);

/** Texts that commas separate; none if the text is empty. */
function listOf(expected: string, isItem: (text: string) => boolean): Parser<readonly string[]> {
  return expecting(expected, (text) => {
    const items = text === "" ? [] : text.split(",").map((item) => item.trim());
    return items.every(isItem) ? items : undefined;
  });
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
