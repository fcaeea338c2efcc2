import { expect, test } from "bun:test";
import { fake } from "../../test/support/fake.ts";
import type { Caller } from "../access/scopes.ts";
import type { Exchange } from "../http/exchange.ts";
import type { Intake } from "../plants/intake.ts";
import { createPlantHandler } from "./create-plant.ts";

const caller: Caller = { name: "a", scopes: ["plants:create"], expiresAtMs: undefined };
const body = Buffer.from('{"id":1,"name":"fern"}');

test("a plant that exceeds the queue is refused after the second that its Retry-After says", () => {
  const intake = fake<Intake>({ create: (plant) => plant.settle({ kind: "too-busy" }) });
  const sent: unknown[] = [];
  const exchange = fake<Exchange>({
    header: (name) => (name === "content-type" ? "application/json" : undefined),
    readBody: (handler) => handler.bodyReceived(body, 0, body.length),
    sendLater: (...reply) => void sent.push(reply),
  });
  createPlantHandler(undefined, intake)(exchange, caller);
  expect(sent).toMatchObject([[{ status: 503, headers: { "Retry-After": "1" } }, 1000]]);
});
