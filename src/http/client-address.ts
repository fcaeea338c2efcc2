import { BlockList, isIP } from "node:net";
import { canonicalAddress } from "./wire/canonical-address.ts";
import type { Head } from "./wire/head.ts";

export interface ProxyOptions {
  /** Addresses and CIDR ranges of the proxies whose header is trusted. */
  readonly trustedProxies: readonly string[];
  /** The only header that is trusted, in lower case. */
  readonly clientAddressHeader: string;
}

// An address, in quotes or brackets if the header's syntax requires them, and a port.
const hop =
  /^"?(?:\[([0-9a-fA-F:.]+)\]|([0-9.]+|[0-9a-fA-F:]*:[0-9a-fA-F:.]*:[0-9a-fA-F:.]*))(?::\d{1,5})?"?$/;
const forwardedFor = /^[ \t]*for=(.*)$/i;

/** Finds out who sent a request: the peer of its connection or, behind trusted proxies, the client they name. */
export class ClientAddresses {
  readonly #trusted: BlockList | undefined;
  readonly #header: string;

  constructor({ trustedProxies, clientAddressHeader }: ProxyOptions) {
    this.#trusted = trustedProxies.length === 0 ? undefined : blockList(trustedProxies);
    this.#header = clientAddressHeader;
  }

  /**
   * Reads the header from the right, as each proxy appends the address that it saw: past trusted ones, up to the first that
   * is not. Anything to its left may be forged by the client.
   */
  of(peer: string, head: Pick<Head, "header"> | undefined): string {
    let address = peer;
    if (this.#trusted === undefined) return address;
    const hops = splitOutsideQuotes(head?.header(this.#header) ?? "", ",");
    while (this.#isTrusted(address)) {
      const next = this.#readHop(hops.pop());
      if (next === undefined) break;
      address = next;
    }
    return address;
  }

  #isTrusted(address: string): boolean {
    const family = isIP(address);
    return family !== 0 && this.#trusted?.check(address, family === 6 ? "ipv6" : "ipv4") === true;
  }

  #readHop(text: string | undefined): string | undefined {
    const value = this.#header === "forwarded" ? forwardedNode(text ?? "") : text;
    const match = hop.exec(value?.trim() ?? "");
    const address = canonicalAddress(match?.[1] ?? match?.[2] ?? "");
    return isIP(address) === 0 ? undefined : address;
  }
}

/** Whether only this machine can reach the address. */
export function isLoopback(host: string): boolean {
  const address = canonicalAddress(host);
  return address === "localhost" || address === "::1" || (isIP(address) === 4 && address.startsWith("127."));
}

/** What counts as one client: an IPv4 address, or the /64 of an IPv6 address, since one host has all of it. */
export function clientNetwork(address: string): string {
  if (isIP(address) !== 6) return address;
  const [before = "", after] = address.split("::");
  const head = before === "" ? [] : before.split(":");
  const tail = after === undefined || after === "" ? [] : after.split(":");
  // An IPv4 address at the end counts as two groups.
  const groupsLeft = 8 - head.length - tail.length - (address.includes(".") ? 1 : 0);
  const zeros = after === undefined ? [] : Array<string>(Math.max(0, groupsLeft)).fill("0");
  const groups = [...head, ...zeros, ...tail]
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16));
  return `${groups.join(":")}::/64`;
}

// The `for` of one element of Forwarded (RFC 7239, 4); an element with two is ignored.
function forwardedNode(element: string): string | undefined {
  const nodes = splitOutsideQuotes(element, ";").flatMap((pair) => forwardedFor.exec(pair)?.[1] ?? []);
  return nodes.length === 1 ? nodes[0] : undefined;
}

// A quoted string may hold separators, and whatever a client wrote into it. If a quote is never closed, nothing is trusted.
function splitOutsideQuotes(text: string, separator: string): string[] {
  const parts = [""];
  let quoted = false;
  for (let at = 0; at < text.length; at++) {
    const character = text.charAt(at);
    if (character === '"') quoted = !quoted;
    if (character === separator && !quoted) {
      parts.push("");
      continue;
    }
    parts[parts.length - 1] += character;
    if (quoted && character === "\\") parts[parts.length - 1] += text.charAt(++at);
  }
  return quoted ? [] : parts;
}

function blockList(ranges: readonly string[]): BlockList {
  const list = new BlockList();
  for (const range of ranges) {
    const [address = "", bits] = range.split("/");
    const family = isIP(address) === 6 ? "ipv6" : "ipv4";
    list.addSubnet(address, Number(bits ?? (family === "ipv6" ? 128 : 32)), family);
  }
  return list;
}
