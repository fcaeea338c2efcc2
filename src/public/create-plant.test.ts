import { expect, test } from "bun:test";
import { fakeTimers } from "../../test/support/clock.ts";
import { fake } from "../../test/support/fake.ts";
import type { Caller } from "../access/gate.ts";
import type { Exchange } from "../http/exchange.ts";
import type { Intake } from "../plants/intake.ts";
import { createPlantHandler } from "./create-plant.ts";

const caller: Caller = { name: "a", scopes: ["plants:create"], expiresAtMs: undefined };
const body = Buffer.from('{"id":1,"name":"fern"}');

test("responses to plants that exceed the queue are spread out", () => {
  using timers = fakeTimers();
  const intake = fake<Intake>({ create: (plant) => plant.settle({ kind: "too-busy" }) });
  const createPlant = createPlantHandler(undefined, intake);
  let answered = 0;
  const exchange = fake<Exchange>({
    header: (name) => (name === "content-type" ? "application/json" : undefined),
    readBody: (handler) => handler.bodyReceived(body, 0, body.length),
    respondError: () => void answered++,
  });
  for (let number = 0; number < 21; number++) createPlant(exchange, caller);
  expect(answered).toBe(20);
  timers.advance(10);
  expect(answered).toBe(21);
});
