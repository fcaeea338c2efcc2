import { expect, test } from "bun:test";
import { listenProblem } from "./listen-address.ts";

const inUse = Object.assign(new Error("in use"), { code: "EADDRINUSE" });

test.each([
  ["127.0.0.1", inUse, "127.0.0.1:3000 is in use by another process; "],
  ["::1", inUse, "[::1]:3000 is in use by another process; "],
  ["::5", new Error("no"), "[::5]:3000 cannot be listened on: no. "],
])("an address is named as a setting has it: %s", (host, error, says) => {
  expect(listenProblem(error, { host, port: 3000 }, "public").message).toStartWith(says);
});
