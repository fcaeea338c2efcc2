import { expect, test } from "bun:test";
import { stoppedClock } from "../../test/support/clock.ts";
import { fake } from "../../test/support/fake.ts";
import type { Caller, Gate } from "../access/gate.ts";
import type { Exchange } from "../http/exchange.ts";
import { minuteMs } from "../text/duration.ts";
import { Downloads } from "./downloads.ts";

const caller: Caller = { name: "ops", scopes: ["operator"], expiresAtMs: undefined };
const linksPerCallerMax = 100;

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
    create: (name = caller.name) => downloads.createLink(request, { ...caller, name }, "file"),
    claim: (parameter: string) => downloads.claimDownload(fake<Exchange>({ ...request, parameter })),
    [Symbol.dispose]: () => clock[Symbol.dispose](),
  };
}

test("a link is good for a minute", () => {
  using downloads = start();
  const early = downloads.create();
  const late = downloads.create();
  downloads.clock.nowMs = minuteMs;
  expect(downloads.claim(early)).toMatchObject({ target: "file", caller });
  downloads.clock.nowMs = minuteMs + 1;
  expect(() => downloads.claim(late)).toThrow("is more than a minute old");
});

test("a link is refused once it was used, or its caller is not allowed", () => {
  using downloads = start();
  const used = downloads.create();
  downloads.claim(used);
  expect(() => downloads.claim(used)).toThrow("was already used");
  const other = downloads.create();
  downloads.gate.isAllowed = false;
  expect(() => downloads.claim(other)).toThrow("was already used");
});

test("one caller has only so many links at a time, of which used and expired ones are none", () => {
  using downloads = start();
  for (let count = 1; count < linksPerCallerMax; count++) downloads.create();
  downloads.claim(downloads.create());
  expect(downloads.create()).toBeString();
  expect(() => downloads.create()).toThrow("This token already has 100 download links");
  downloads.clock.nowMs = minuteMs + 1;
  expect(downloads.create()).toBeString();
});

test("a caller gets a link whatever the others request", () => {
  using downloads = start();
  for (let count = 0; count < 20 * linksPerCallerMax; count++) downloads.create(`script-${count % 20}`);
  expect(downloads.create()).toBeString();
});
