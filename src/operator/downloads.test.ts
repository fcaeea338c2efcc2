import { expect, test } from "bun:test";
import { stoppedClock } from "../../test/support/clock.ts";
import { fake } from "../../test/support/fake.ts";
import type { Caller, Gate } from "../access/gate.ts";
import type { Exchange } from "../http/exchange.ts";
import { minuteMs } from "../text/duration.ts";
import { Downloads } from "./downloads.ts";

const caller: Caller = { name: "ops", scopes: ["operator"], expiresAtMs: undefined };
const linksMax = 1000;

/** Downloads at a time that the test sets, for a caller that the gate may deny. */
function start() {
  const clock = stoppedClock();
  const gate = { isAllowed: true };
  const watch = () => () => gate.isAllowed;
  const downloads = new Downloads<string>(fake<Gate>({ watch }), "operator");
  const request = fake<Exchange>({ method: "GET", header: () => undefined, acceptCaller() {} });
  return {
    clock,
    gate,
    create: () => downloads.createLink(request, caller, "file"),
    follow: (parameter: string) => downloads.follow(fake<Exchange>({ ...request, parameter })),
    [Symbol.dispose]: () => clock[Symbol.dispose](),
  };
}

test("a link is good for a minute", () => {
  using downloads = start();
  const link = downloads.create();
  downloads.clock.nowMs = minuteMs;
  expect(downloads.follow(link)).toMatchObject({ target: "file", caller });
});

test("a link is refused after a minute", () => {
  using downloads = start();
  const link = downloads.create();
  downloads.clock.nowMs = 60_001;
  expect(() => downloads.follow(link)).toThrow("is more than a minute old");
});

test("a link is refused once it was used", () => {
  using downloads = start();
  const link = downloads.create();
  downloads.follow(link);
  expect(() => downloads.follow(link)).toThrow("was already used");
});

test("a link is refused once its caller is not allowed", () => {
  using downloads = start();
  const link = downloads.create();
  downloads.gate.isAllowed = false;
  expect(() => downloads.follow(link)).toThrow("was already used");
});

test("there are only so many links at a time", () => {
  using downloads = start();
  for (let count = 0; count < linksMax; count++) downloads.create();
  expect(downloads.create).toThrow("Too many downloads");
});

test("expired links make room for others", () => {
  using downloads = start();
  for (let count = 0; count < linksMax; count++) downloads.create();
  downloads.clock.nowMs = 60_001;
  expect(downloads.create()).toBeString();
});
