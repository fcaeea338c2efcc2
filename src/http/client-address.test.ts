import { expect, test } from "bun:test";
import { ClientAddresses, clientNetwork, isLoopback } from "./client-address.ts";
import { canonicalAddress } from "./wire/canonical-address.ts";

const trustedProxies = ["10.0.0.0/8", "fd00::/8", "::1"];

test.each([
  ["a peer that is not trusted", "192.0.2.1", "198.51.100.7", "192.0.2.1"],
  ["no header", "10.0.0.1", undefined, "10.0.0.1"],
  ["one hop", "10.0.0.1", "198.51.100.7", "198.51.100.7"],
  ["a client that names others before itself", "10.0.0.1", "1.1.1.1, 198.51.100.7", "198.51.100.7"],
  ["several trusted hops", "10.0.0.1", "198.51.100.7, 10.0.0.3,10.0.0.2", "198.51.100.7"],
  ["only trusted hops", "10.0.0.1", "10.0.0.3, 10.0.0.2", "10.0.0.3"],
  ["a hop that is no address", "10.0.0.1", "198.51.100.7, unknown, 10.0.0.2", "10.0.0.2"],
  ["an empty header", "10.0.0.1", "", "10.0.0.1"],
  ["ports", "10.0.0.1", "198.51.100.7:4711, [fd00::1]:80", "198.51.100.7"],
  ["IPv6", "::1", "2001:DB8::1", "2001:db8::1"],
  ["IPv4 in IPv6", "10.0.0.1", "::ffff:198.51.100.7", "198.51.100.7"],
])("X-Forwarded-For with %s", (_, peer, header, address) => {
  const addresses = new ClientAddresses({ trustedProxies, clientAddressHeader: "x-forwarded-for" });
  expect(addresses.of(peer, headers("x-forwarded-for", header))).toBe(address);
});

test.each([
  ["for=198.51.100.7;proto=https", "198.51.100.7"],
  ['for="[2001:db8::1]:4711"', "2001:db8::1"],
  ["proto=https; For=198.51.100.7, for=10.0.0.2", "198.51.100.7"],
  ["for=1.1.1.1, for=_hidden", "10.0.0.1"],
  ["by=198.51.100.7", "10.0.0.1"],
  ['for=198.51.100.7;host="x,for=203.0.113.9"', "198.51.100.7"],
  ['host="x;for=203.0.113.9";for=198.51.100.7', "198.51.100.7"],
  ['host="x\\",for=203.0.113.9";for=198.51.100.7', "198.51.100.7"],
  ["for=198.51.100.7;for=203.0.113.9", "10.0.0.1"],
  ['for=198.51.100.7;host="x', "10.0.0.1"],
])("Forwarded: %s", (header, address) => {
  const addresses = new ClientAddresses({ trustedProxies, clientAddressHeader: "forwarded" });
  expect(addresses.of("10.0.0.1", headers("forwarded", header))).toBe(address);
});

test("without trusted proxies no header is read", () => {
  const addresses = new ClientAddresses({ trustedProxies: [], clientAddressHeader: "x-forwarded-for" });
  expect(addresses.of("10.0.0.1", headers("x-forwarded-for", "198.51.100.7"))).toBe("10.0.0.1");
});

test.each([
  ["198.51.100.7", "198.51.100.7"],
  ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
  ["2001:db8:1:2::", "2001:db8:1:2::/64"],
  ["2001:0db8::1", "2001:db8:0:0::/64"],
  ["::1", "0:0:0:0::/64"],
  ["64:ff9b::192.0.2.1", "64:ff9b:0:0::/64"],
])("%s belongs to %s", (address, network) => {
  expect(clientNetwork(address)).toBe(network);
});

test("loopback is this machine", () => {
  const hosts = ["127.0.0.1", "127.8.8.8", "::1", "localhost", "::ffff:127.0.0.1"];
  expect(hosts.filter((host) => !isLoopback(host))).toEqual([]);
  expect(["0.0.0.0", "::", "10.0.0.1", "example.org", "127.example.org"].filter(isLoopback)).toEqual([]);
});

function headers(name: string, value: string | undefined) {
  return { header: (wanted: string) => (wanted === name ? value : undefined) };
}

test.each([
  ["127.0.0.1", "127.0.0.1"],
  ["::ffff:192.0.2.1", "192.0.2.1"],
  ["2001:DB8::1", "2001:db8::1"],
  ["fe80::1%eth0", "fe80::1"],
])("the address of a peer, %s, is %s in all that names it", (address, canonical) => {
  expect(canonicalAddress(address)).toBe(canonical);
});
