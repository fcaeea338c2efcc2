import { BlockList, isIP } from "node:net";
import { canonicalAddress } from "../system/ip-address.ts";
import type { Head } from "./wire/head.ts";

// Some proxies add the port: 192.0.2.1:4711, [2001:db8::1]:4711.
const withPort = /^(?:\[(.*)\](?::\d{1,5})?|([0-9.]+):\d{1,5})$/;

/** Finds out who sent a request: the peer of its connection or, behind trusted proxies, the client they name. */
export class ClientAddresses {
  readonly #trusted: BlockList | undefined;

  /** Addresses and CIDR ranges of the proxies whose X-Forwarded-For is read. */
  constructor(trustedProxies: readonly string[]) {
    this.#trusted = trustedProxies.length === 0 ? undefined : blockList(trustedProxies);
  }

  /**
   * The address of the client. Reads X-Forwarded-For from the right, as each proxy appends the address that it saw: past trusted
   * ones, up to the first that is not. Anything to its left may be forged by the client.
   */
  of(peer: string, head: Pick<Head, "header"> | undefined): string {
    if (!this.#isTrusted(peer)) return peer;
    const elements = head?.header("x-forwarded-for")?.split(",") ?? [];
    let client = peer;
    while (this.#isTrusted(client)) {
      const next = tryParseAddress(elements.pop()?.trim() ?? "");
      if (next === undefined) break;
      client = next;
    }
    return client;
  }

  /** A peer that has gone has no address. */
  #isTrusted(address: string): boolean {
    const version = isIP(address);
    return version !== 0 && this.#trusted?.check(address, version === 6 ? "ipv6" : "ipv4") === true;
  }
}

function tryParseAddress(element: string): string | undefined {
  const match = withPort.exec(element);
  const text = match?.[1] ?? match?.[2] ?? element;
  return isIP(text) === 0 ? undefined : canonicalAddress(text);
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
