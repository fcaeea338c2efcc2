import { expect, jest, test } from "bun:test";
import type { Caller } from "../access/gate.ts";
import type { BodyHandler, Exchange } from "../http/exchange.ts";
import type { Intake, PendingPlant } from "../plants/intake.ts";
import { CreatePlant } from "./create-plant.ts";

const caller: Caller = { name: "a", scopes: ["plants:create"], expiresAtMs: undefined };
const body = Buffer.from('{"id":1,"name":"fern"}');

test("responses to plants that exceed the queue are spread out", () => {
  jest.useFakeTimers();
  try {
    const intake = { create: (plant: PendingPlant) => plant.settle({ kind: "too-busy" }) } as Intake;
    const createPlant = new CreatePlant(undefined, intake);
    let answered = 0;
    const exchange = {
      header: (name: string) => (name === "content-type" ? "application/json" : undefined),
      readBody: (handler: BodyHandler) => handler.received(body, 0, body.length),
      error: () => answered++,
    } as unknown as Exchange;
    for (let number = 0; number < 21; number++) createPlant.handle(exchange, caller);
    expect(answered).toBe(20);
    jest.advanceTimersByTime(10);
    expect(answered).toBe(21);
  } finally {
    jest.useRealTimers();
  }
});
