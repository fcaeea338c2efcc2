import { describe, expect, test } from "bun:test";
import { fake } from "../../test/support/fake.ts";
import type { Caller, Gate } from "../access/gate.ts";
import { RateLimit } from "../access/rate-limit.ts";
import type { Exchange } from "../http/exchange.ts";
import { HttpError } from "../http/http-error.ts";
import type { Intake, PendingPlant } from "../plants/intake.ts";
import type { Events } from "../telemetry/events.ts";
import type { ActionRecorder } from "./action-recorder.ts";
import { importRoutes } from "./imports.ts";

const caller: Caller = { name: "a", scopes: ["plants:create", "operator:read"], expiresAtMs: undefined };

/** The route of imports, and what it has answered so far. Its rows are no plants, so that none needs a store. */
function startImport({ isAllowed = () => true, isServing = () => true }) {
  const target = {
    gate: fake<Gate>({ watch: () => isAllowed }),
    rateLimit: new RateLimit({ count: 100, perMs: 1000 }),
    intake: fake<Intake>({}),
    events: fake<Events>({}),
  };
  const [importing] = importRoutes(target, fake<ActionRecorder>({}), 1000);
  const answers: unknown[] = [];
  const exchange = fake<Exchange>({
    query: new URLSearchParams(),
    header: () => undefined,
    refuseWhileDraining() {
      if (!isServing()) throw new HttpError("closing");
    },
    receiveBody: async () => Buffer.from("not a plant\n".repeat(5)),
    respondJson: (answer) => void answers.push(answer),
  });
  return { answers, run: async () => importing?.handle(exchange, caller) };
}

/** A question whose answer is yes that many times, and then no. */
function yesTimes(count: number): () => boolean {
  let asked = 0;
  return () => {
    asked++;
    return asked <= count;
  };
}

const asTheGate = { "WWW-Authenticate": 'Bearer realm="plant-store", error="invalid_token"' };
describe.each([
  // Each row asks both questions; a request asks first whether the service still serves.
  ["whose token is revoked", () => ({ isAllowed: yesTimes(2) }), asTheGate],
  ["of a service that stops", () => ({ isServing: yesTimes(1 + 2) }), {}],
])("an import %s after two rows", (_, questions, headers) => {
  test("has the outcomes of these rows", async () => {
    const { answers, run } = startImport(questions());
    await run();
    expect(answers).toMatchObject([{ outcomes: [{ error: 40002 }, { error: 40002 }] }]);
  });

  test("is refused when it sends the rest", async () => {
    const { answers, run } = startImport(questions());
    await run();
    await expect(run()).rejects.toMatchObject({ name: "HttpError", headers });
    expect(answers).toHaveLength(1);
  });
});

describe("an import one of whose rows is rejected", () => {
  /** Imports three rows, each of which gets its outcome from the callback. */
  async function importThree(settleRow: (row: number, settle: PendingPlant["settle"]) => void) {
    const created: number[] = [];
    const intake = fake<Intake>({
      create: ({ plant, settle }) => {
        created.push(Number(plant.id));
        settleRow(Number(plant.id), settle);
      },
    });
    const gate = fake<Gate>({ watch: () => () => true });
    const target = { gate, rateLimit: undefined, intake, events: fake<Events>({}) };
    const [importing] = importRoutes(target, fake<ActionRecorder>({}), 1000);
    const answers: unknown[] = [];
    const exchange = fake<Exchange>({
      query: new URLSearchParams(),
      header: () => undefined,
      refuseWhileDraining() {},
      receiveBody: async () => Buffer.from([1, 2, 3].map((id) => `{"id":${id},"name":"a"}\n`).join("")),
      respondJson: (answer) => void answers.push(answer),
    });
    await importing?.handle(exchange, caller);
    return { created, answers };
  }

  test("creates no plant of a row after it", async () => {
    const { created, answers } = await importThree((row, settle) =>
      settle({ kind: row === 2 ? "too-busy" : "created" }),
    );
    expect(created).toEqual([1, 2]);
    expect(answers).toEqual([{ outcomes: ["created"] }]);
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
