import { BlockList, isIP } from "node:net";
import { canonicalAddress, networkOf } from "../system/ip-address.ts";
import type { Head } from "./wire/head.ts";

// Some proxies add the port: 192.0.2.1:4711, [2001:db8::1]:4711.
const withPort = /^(?:\[(.*)\](?::\d{1,5})?|([0-9.]+):\d{1,5})$/;
// More senders than are active at the same time. Once this many are known, all of them are forgotten.
const knownMax = 4096;
// Most headers are shorter. An address that is remembered from a longer one would keep the whole header in memory.
const forwardedCharactersMax = 256;

/** A peer, a proxy or a client. */
interface Sender {
  readonly address: string;
  readonly network: string;
  readonly isTrusted: boolean;
}

/** Finds out who sent a request: the peer of its connection or, behind trusted proxies, the client they name. */
export class ClientAddresses {
  readonly #trusted: BlockList | undefined;
  /** Senders by their address as it was written: parsing one takes a microsecond or, with IPv6, three. */
  readonly #known = new Map<string, Sender>();

  /** Addresses and CIDR ranges of the proxies whose X-Forwarded-For is read. */
  constructor(trustedProxies: readonly string[]) {
    this.#trusted = trustedProxies.length === 0 ? undefined : blockList(trustedProxies);
  }

  /** Whether a client may have another address than the peer of its connection. */
  get trustsProxies(): boolean {
    return this.#trusted !== undefined;
  }

  /** The address of the client. */
  of(peer: string, head: Pick<Head, "header"> | undefined): string {
    return this.#trusted === undefined ? peer : (this.#client(peer, head)?.address ?? peer);
  }

  /** The network of the client. */
  networkOf(peer: string, head: Pick<Head, "header"> | undefined): string {
    return this.#client(peer, head)?.network ?? peer;
  }

  /**
   * Reads X-Forwarded-For from the right, as each proxy appends the address that it saw: past trusted ones, up to the first that
   * is not. Anything to its left may be forged by the client. Undefined if the peer has no address any more.
   */
  #client(peer: string, head: Pick<Head, "header"> | undefined): Sender | undefined {
    let client = this.#remember(peer);
    if (client?.isTrusted !== true) return client;
    const forwarded = head?.header("x-forwarded-for") ?? "";
    const isShort = forwarded.length <= forwardedCharactersMax;
    const elements = forwarded.split(",");
    while (client.isTrusted) {
      const element = elements.pop()?.trim() ?? "";
      const next = isShort ? this.#remember(element) : this.#read(element);
      if (next === undefined) break;
      client = next;
    }
    return client;
  }

  /** Undefined if it is no address. */
  #remember(element: string): Sender | undefined {
    const known = this.#known.get(element);
    if (known !== undefined) return known;
    const sender = this.#read(element);
    if (sender === undefined) return undefined;
    if (this.#known.size >= knownMax) this.#known.clear();
    this.#known.set(element, sender);
    return sender;
  }

  /** Undefined if it is no address. */
  #read(element: string): Sender | undefined {
    const match = withPort.exec(element);
    const text = match?.[1] ?? match?.[2] ?? element;
    if (isIP(text) === 0) return undefined;
    const address = canonicalAddress(text);
    const family = isIP(address) === 6 ? "ipv6" : "ipv4";
    const isTrusted = this.#trusted?.check(address, family) === true;
    return { address, network: networkOf(address), isTrusted };
  }
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
