import { expect, jest, test } from "bun:test";
import type { Caller } from "../access/gate.ts";
import type { BodyReceiver, Exchange } from "../http/exchange.ts";
import type { Intake, PendingPlant } from "../plants/intake.ts";
import { CreatePlant } from "./create-plant.ts";

const caller: Caller = { name: "a", scopes: ["plants:create"], expiresAtMs: undefined };
const body = Buffer.from('{"id":1,"name":"fern"}');

test("responses to plants that exceed the queue are spread out in order, and all of them are sent", () => {
  jest.useFakeTimers();
  try {
    const intake = { create: (plant: PendingPlant) => plant.settle("too-busy") } as Intake;
    const createPlant = new CreatePlant(undefined, intake);
    const answered: number[] = [];
    const send = (number: number) =>
      createPlant.handle(
        {
          header: (name: string) => (name === "content-type" ? "application/json" : undefined),
          readBody: (receiver: BodyReceiver) => receiver.received(body),
          error: () => void answered.push(number),
        } as unknown as Exchange,
        caller,
      );
    for (let number = 0; number < 50; number++) send(number);
    expect(answered.length).toBe(20);
    jest.advanceTimersByTime(10);
    expect(answered.length).toBe(40);
    jest.advanceTimersByTime(10);
    expect(answered).toEqual(Array.from({ length: 50 }, (_, number) => number));
    // The rest of this tick's share is not used up.
    for (let number = 50; number < 65; number++) send(number);
    expect(answered.length).toBe(60);
    jest.advanceTimersByTime(20);
    expect(answered.length).toBe(65);
    expect(jest.getTimerCount()).toBe(0);
  } finally {
    jest.useRealTimers();
  }
});
