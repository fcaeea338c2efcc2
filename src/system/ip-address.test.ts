import { expect, test } from "bun:test";
import { isLoopback, isLoopbackHttp, networkOf } from "./ip-address.ts";

test.each([
  ["192.0.2.1", "192.0.2.1"],
  ["::ffff:192.0.2.1", "192.0.2.1"],
  ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
  ["2001:db8:1:2::6", "2001:db8:1:2::/64"],
  ["2001:DB8::1", "2001:db8:0:0::/64"],
  ["2001:db8::2:3:4:5:6", "2001:db8:0:2::/64"],
  ["::1", "0:0:0:0::/64"],
  ["64:ff9b::192.0.2.1", "64:ff9b:0:0::/64"],
  ["fe80::1%eth0", "fe80::1"],
  ["fe80::2", "fe80::2"],
  ["", ""],
])("the sender at %p is counted as %p", (address, network) => {
  expect(networkOf(address)).toBe(network);
});

test("only loopback addresses and localhost are reached from this machine alone", () => {
  const loopback = "127.0.0.1 127.8.8.8 ::1 [::1] ::ffff:127.0.0.1 localhost LOCALHOST".split(" ");
  const others = "0.0.0.0 :: [::] 10.0.0.1 ::ffff:10.0.0.1 127.999.0.1".split(" ");
  const names = ["", "127.example.org", "localhost.example.org", "example.org"];
  expect([...loopback, ...others, ...names].filter(isLoopback)).toEqual(loopback);
});

test.each([
  ["http://localhost:8080/", true],
  ["http://[::1]/", true],
  ["https://localhost/", false],
  ["http://id.example.org/", false],
])("whether %s is plain http on loopback is %p", (url, expected) => {
  expect(isLoopbackHttp(new URL(url))).toBe(expected);
});
