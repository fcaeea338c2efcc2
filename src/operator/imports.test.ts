import { describe, expect, test } from "bun:test";
import { fake } from "../../test/support/fake.ts";
import type { Caller, Gate } from "../access/gate.ts";
import { RateLimit } from "../access/rate-limit.ts";
import type { Exchange } from "../http/exchange.ts";
import { HttpError } from "../http/http-error.ts";
import type { Intake } from "../plants/intake.ts";
import type { Events } from "../telemetry/events.ts";
import type { ActionRecorder } from "./action-recorder.ts";
import { importRoutes } from "./imports.ts";

const caller: Caller = { name: "a", scopes: ["plants:create", "operator:read"], expiresAtMs: undefined };
const asTheGate = { "WWW-Authenticate": 'Bearer realm="plant-store", error="invalid_token"' };
describe.each([
  ["whose token is revoked", 2, Number.POSITIVE_INFINITY, asTheGate],
  ["of a service that stops", Number.POSITIVE_INFINITY, 3, {}],
])("an import %s meanwhile", (_, allowedTimes, servingTimes, headers) => {
  /** Imports five rows, of which none is a plant, until the gate or the service says no. */
  function start() {
    let checks = 0;
    let requests = 0;
    const target = {
      gate: fake<Gate>({
        watch: () => () => {
          checks++;
          return checks <= allowedTimes;
        },
      }),
      rateLimit: new RateLimit({ count: 100, perMs: 1000 }),
      intake: fake<Intake>({}),
      events: fake<Events>({}),
    };
    const [importing] = importRoutes(target, fake<ActionRecorder>({}), 1000);
    const rows = Array.from({ length: 5 }, () => "not a plant\n").join("");
    const answers: unknown[] = [];
    const exchange = fake<Exchange>({
      query: new URLSearchParams(),
      header: () => undefined,
      refuseWhileDraining() {
        requests++;
        if (requests > servingTimes) throw new HttpError("closing");
      },
      receiveBody: async () => Buffer.from(rows),
      respondJson: (answer) => void answers.push(answer),
    });
    return { answers, run: async () => importing?.handle(exchange, caller) };
  }

  test("ends after the row it has got to", async () => {
    const { answers, run } = start();
    await run();
    expect(answers).toMatchObject([{ outcomes: [{ error: 40002 }, { error: 40002 }] }]);
  });

  test("is followed by none: the next does not start", async () => {
    const { answers, run } = start();
    await run();
    await expect(run()).rejects.toMatchObject({ name: "HttpError", headers });
    expect(answers).toHaveLength(1);
  });
});

test("a row that fails has the message of POST /plants, a sentence", async () => {
  const target = {
    gate: fake<Gate>({ watch: () => () => true }),
    rateLimit: undefined,
    intake: fake<Intake>({ create: ({ settle }) => settle({ kind: "failed", reason: "a trigger" }) }),
    events: fake<Events>({ internalError() {} }),
  };
  const [importing] = importRoutes(target, fake<ActionRecorder>({}), 1000);
  const answers: unknown[] = [];
  const exchange = fake<Exchange>({
    query: new URLSearchParams(),
    header: () => undefined,
    refuseWhileDraining() {},
    receiveBody: async () => Buffer.from('{"id":1,"name":"a"}\n'),
    respondJson: (answer) => void answers.push(answer),
  });
  await importing?.handle(exchange, caller);
  const message = "Internal error. The log has the details under the request id.";
  expect(answers).toEqual([{ outcomes: [{ error: 50001, message, reason: message }] }]);
});
