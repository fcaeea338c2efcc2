const mappedIpv4 = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i;
// The last 32 bits of an IPv6 address may be written as an IPv4 address.
const dottedEnd = /\d+\.\d+\.\d+\.\d+$/;
const linkLocal = /^fe[89ab][0-9a-f]:/;
const groupsOfAddress = 8;
const groupsOfNetwork = 4;

/** The address without a zone, and an IPv4-mapped IPv6 address as IPv4. */
export function canonicalAddress(address: string): string {
  const plain = address.replace(/%.*$/, "");
  return mappedIpv4.exec(plain)?.[1] ?? plain.toLowerCase();
}

/**
 * What one sender can be expected to have: an IPv4 address, or the /64 of an IPv6 address, of which every host has 2^64. A
 * link-local address stays whole: the hosts of a link share its /64.
 */
export function networkOf(address: string): string {
  if (!address.includes(":")) return address;
  const plain = canonicalAddress(address);
  if (!plain.includes(":") || linkLocal.test(plain)) return plain;
  const [before = "", after] = plain.replace(dottedEnd, "0:0").split("::");
  const first = groupsIn(before);
  const last = groupsIn(after ?? "");
  const omitted = after === undefined ? 0 : groupsOfAddress - first.length - last.length;
  const groups = [...first, ...Array<string>(Math.max(0, omitted)).fill("0"), ...last];
  return `${groups.slice(0, groupsOfNetwork).join(":")}::/64`;
}

function groupsIn(text: string): string[] {
  return text === "" ? [] : text.split(":");
}
