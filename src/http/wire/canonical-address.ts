const mappedIpv4 = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i;

/** Without a zone, and with an IPv4-mapped IPv6 address as IPv4. */
export function canonicalAddress(address: string): string {
  const plain = address.replace(/%.*$/, "");
  return mappedIpv4.exec(plain)?.[1] ?? plain.toLowerCase();
}
