import { expect, test } from "bun:test";
import { ClientAddresses } from "./client-address.ts";

const trustedProxies = ["10.0.0.0/8", "fd00::/8", "::1"];

test.each([
  ["a value from a peer that is not trusted", "192.0.2.1", "198.51.100.7", "192.0.2.1"],
  ["no value", "10.0.0.1", undefined, "10.0.0.1"],
  ["one hop", "10.0.0.1", "198.51.100.7", "198.51.100.7"],
  ["a client that names others before itself", "10.0.0.1", "1.1.1.1, 198.51.100.7", "198.51.100.7"],
  ["several trusted hops", "10.0.0.1", "198.51.100.7, 10.0.0.3,10.0.0.2", "198.51.100.7"],
  ["only trusted hops", "10.0.0.1", "10.0.0.3, 10.0.0.2", "10.0.0.3"],
  ["a hop that is no address", "10.0.0.1", "198.51.100.7, unknown, 10.0.0.2", "10.0.0.2"],
  ["an empty value", "10.0.0.1", "", "10.0.0.1"],
  ["a quoted list of the client's", "10.0.0.1", '"1.1.1.1, 10.0.0.2", 198.51.100.8', "198.51.100.8"],
  ["ports", "10.0.0.1", "198.51.100.7:4711, [fd00::1]:80", "198.51.100.7"],
  ["IPv6 in brackets", "10.0.0.1", "[2001:db8::1]", "2001:db8::1"],
  ["IPv6", "::1", "2001:DB8::1", "2001:db8::1"],
  ["IPv6 with a zone", "10.0.0.1", "fe80::1%eth0", "fe80::1"],
  ["IPv4 in IPv6", "10.0.0.1", "::ffff:198.51.100.7", "198.51.100.7"],
])("the client is found behind trusted proxies where X-Forwarded-For has %s", (_, peer, header, address) => {
  expect(new ClientAddresses(trustedProxies).of(peer, forwardedFor(header))).toBe(address);
});

test("a peer that has gone has no address", () => {
  expect(new ClientAddresses(trustedProxies).of("", undefined)).toBe("");
});

test("without trusted proxies no header is read", () => {
  expect(new ClientAddresses([]).of("10.0.0.1", forwardedFor("198.51.100.7"))).toBe("10.0.0.1");
});

function forwardedFor(value: string | undefined) {
  return { header: (name: string) => (name === "x-forwarded-for" ? value : undefined) };
}
