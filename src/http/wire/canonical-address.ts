const mappedIpv4 = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i;

/** Without a zone, and IPv4 in its own form where a listener on all addresses sees it as IPv6. */
export function canonicalAddress(address: string): string {
  const plain = address.replace(/%.*$/, "");
  return mappedIpv4.exec(plain)?.[1] ?? plain.toLowerCase();
}
