import { expect, test } from "bun:test";
import { stoppedClock } from "../../test/support/clock.ts";
import { fake } from "../../test/support/fake.ts";
import type { Caller } from "../access/scopes.ts";
import type { Exchange } from "../http/exchange.ts";
import { denial } from "../http/refusal.ts";
import { page } from "../http/reply.ts";
import { minuteMs } from "../text/duration.ts";
import { type Download, DownloadLinks } from "./download-links.ts";

const caller: Caller = { name: "ops", scopes: ["operator"], expiresAtMs: undefined };
const linksPerCallerMax = 100;

/** Links at a time that the test sets, for a caller that the gate may deny. */
function start(download: Download = async () => page("text/plain", "file")) {
  const clock = stoppedClock();
  const gate = { isAllowed: true };
  const links = new DownloadLinks();
  const exchange = {
    method: "GET",
    header: () => undefined,
    admit: () => (gate.isAllowed ? caller : denial("bad-credentials", "operator")),
  };
  return {
    clock,
    gate,
    create: (name = caller.name) =>
      JSON.parse(
        String(links.create(fake<Exchange>(exchange), { ...caller, name }, "operator", download).body),
      ).url as string,
    follow: (url: string) =>
      links.follow(fake<Exchange>({ ...exchange, parameter: url.split("/")[3] ?? "" })),
    [Symbol.dispose]: () => clock[Symbol.dispose](),
  };
}

test("a link is good for one download within a minute, as long as its caller is allowed", async () => {
  using links = start();
  const gone = { kind: "no-such-path" };
  const [used, late, denied] = [links.create(), links.create(), links.create()];
  links.gate.isAllowed = false;
  await expect(links.follow(denied)).rejects.toMatchObject(gone);
  links.gate.isAllowed = true;
  links.clock.nowMs = minuteMs;
  expect(await links.follow(used)).toMatchObject({ body: "file" });
  await expect(links.follow(used)).rejects.toMatchObject(gone);
  links.clock.nowMs = minuteMs + 1;
  await expect(links.follow(late)).rejects.toMatchObject(gone);
});

test("a link that is refused is not used up, and one that two follow at once works for one", async () => {
  const failure = { isOver: false };
  using links = start(async () => {
    if (!failure.isOver) throw new Error("busy");
    return page("text/plain", "file");
  });
  const link = links.create();
  await expect(links.follow(link)).rejects.toThrow("busy");
  failure.isOver = true;
  const both = await Promise.allSettled([links.follow(link), links.follow(link)]);
  expect(both.map(({ status }) => status)).toEqual(["fulfilled", "rejected"]);
});

test("one caller has only so many links at a time, of which used and expired ones are none", async () => {
  using links = start();
  for (let count = 1; count < linksPerCallerMax; count++) links.create();
  await links.follow(links.create());
  expect(links.create()).toBeString();
  expect(() => links.create()).toThrow(expect.objectContaining({ kind: "too-busy" }));
  links.clock.nowMs = minuteMs + 1;
  expect(links.create()).toBeString();
});

test("a caller gets a link whatever the others request", () => {
  using links = start();
  for (let count = 0; count < 20 * linksPerCallerMax; count++) links.create(`script-${count % 20}`);
  expect(links.create()).toBeString();
});
