import { isIP } from "node:net";

const mappedIpv4 = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i;
// The last 32 bits of an IPv6 address may be written as an IPv4 address.
const dottedEnd = /\d+\.\d+\.\d+\.\d+$/;
const linkLocal = /^fe[89ab][0-9a-f]:/;
const groupsOfAddress = 8;
const groupsOfNetwork = 4;

/** The largest number of a TCP port. */
export const portMax = 65_535;

/** What a listener is bound to, or is to be. */
export interface Address {
  /** An IP address, without brackets, or a name. */
  readonly host: string;
  readonly port: number;
}

/** The address without a zone, and an IPv4-mapped IPv6 address as IPv4. */
export function canonicalAddress(address: string): string {
  const zoneAt = address.indexOf("%");
  const plain = zoneAt < 0 ? address : address.slice(0, zoneAt);
  const ipv4 = plain.includes(".") ? mappedIpv4.exec(plain)?.[1] : undefined;
  return ipv4 ?? plain.toLowerCase();
}

/**
 * Whether only this machine can reach the host, as a setting or a URL has it. `localhost` is always loopback (RFC 6761); no
 * other name is, whatever it resolves to.
 */
export function isLoopback(host: string): boolean {
  const inBrackets = /^\[(.*)\]$/.exec(host)?.[1];
  const address = canonicalAddress(inBrackets ?? host);
  return address === "localhost" || address === "::1" || (isIP(address) === 4 && address.startsWith("127."));
}

/** Whether a URL is plain http that never leaves this machine. */
export function isLoopbackHttp({ protocol, hostname }: URL): boolean {
  return protocol === "http:" && isLoopback(hostname);
}

/**
 * What one sender can be expected to have: an IPv4 address, or the /64 of an IPv6 address, of which every host has 2^64. A
 * link-local address stays whole: the hosts of a link share its /64.
 */
export function networkOf(address: string): string {
  if (!address.includes(":")) return address;
  const plain = canonicalAddress(address);
  if (!plain.includes(":") || linkLocal.test(plain)) return plain;
  const omittedAt = plain.indexOf("::");
  const before = omittedAt < 0 ? plain : plain.slice(0, omittedAt);
  const groups = before === "" ? [] : before.split(":", groupsOfNetwork);
  if (groups.length < groupsOfNetwork) {
    const after = plain.slice(omittedAt + 2).replace(dottedEnd, "0:0");
    const last = after === "" ? [] : after.split(":");
    // All groups that `::` stands for are zeros; those after it count only if it stands for few.
    while (groups.length < Math.min(groupsOfNetwork, groupsOfAddress - last.length)) groups.push("0");
    groups.push(...last.slice(0, groupsOfNetwork - groups.length));
  }
  return `${groups.join(":")}::/64`;
}
