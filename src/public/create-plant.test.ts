import { expect, test } from "bun:test";
import type { Caller } from "../access/gate.ts";
import { RateLimit } from "../access/rate-limit.ts";
import type { Exchange } from "../http/exchange.ts";
import { Counters } from "../telemetry/counters.ts";
import { createEvents } from "../telemetry/events.ts";
import { createLog } from "../telemetry/log.ts";
import { createPlant } from "./create-plant.ts";

const caller: Caller = { name: "a", scopes: ["plants:create"], expiresAtMs: undefined };

test("responses to plants that exceed the queue are spread out, and all of them are sent", async () => {
  const log = createLog({ level: "off", format: "json", colour: false, write: () => {} });
  const handle = createPlant.handler({
    rateLimit: new RateLimit(undefined),
    intake: { create: (_plant, _by, settle) => settle("too-busy"), flush() {}, ready: async () => true },
    events: createEvents(log, new Counters(), Date.now),
  });
  const answered: string[] = [];
  const exchange = {
    header: (name: string) => (name === "content-type" ? "application/json" : undefined),
    readBody: (use: (body: Buffer) => void) => use(Buffer.from('{"id":1,"name":"fern"}')),
    error: (kind: string) => void answered.push(kind),
  } as unknown as Exchange;
  for (let count = 0; count < 60; count++) handle(exchange, caller);
  expect(answered).toHaveLength(20);
  while (answered.length < 60) await Bun.sleep(1);
  expect(new Set(answered)).toEqual(new Set(["too-busy"]));
});
