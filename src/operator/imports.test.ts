import { expect, test } from "bun:test";
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

interface ImportOptions {
  /** What is imported; by default five rows that are no plants, so that none needs a store. */
  readonly body?: string;
  readonly isAllowed?: () => boolean;
  readonly isServing?: () => boolean;
  readonly create?: Intake["create"];
}

/** The route of imports, and what it has answered so far. */
function startImport({ body, isAllowed = () => true, isServing = () => true, create }: ImportOptions) {
  const target = {
    gate: fake<Gate>({ watch: () => isAllowed }),
    rateLimit: new RateLimit({ count: 100, perMs: 1000 }),
    intake: fake<Intake>({ ...(create && { create }) }),
    events: fake<Events>({ internalError() {} }),
  };
  const [importing] = importRoutes(target, fake<ActionRecorder>({}), 1000);
  const answers: unknown[] = [];
  const exchange = fake<Exchange>({
    query: new URLSearchParams(),
    header: () => undefined,
    refuseWhileDraining() {
      if (!isServing()) throw new HttpError("closing");
    },
    receiveBody: async () => Buffer.from(body ?? "not a plant\n".repeat(5)),
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
test.each([
  // Each row asks both questions; a request asks first whether the service still serves.
  ["whose token is revoked", () => ({ isAllowed: yesTimes(2) }), asTheGate],
  ["of a service that stops", () => ({ isServing: yesTimes(1 + 2) }), {}],
])(
  "an import %s after two rows has their outcomes, and the rest is refused",
  async (_, questions, headers) => {
    const { answers, run } = startImport(questions());
    await run();
    await expect(run()).rejects.toMatchObject({ name: "HttpError", headers });
    expect(answers).toMatchObject([{ outcomes: [{ error: 40002 }, { error: 40002 }] }]);
  },
);

test("an import creates no plant of a row after one that is rejected", async () => {
  const created: number[] = [];
  const { answers, run } = startImport({
    body: [1, 2, 3].map((id) => `{"id":${id},"name":"a"}\n`).join(""),
    create({ plant, settle }) {
      created.push(Number(plant.id));
      settle({ kind: plant.id === 2n ? "too-busy" : "created" });
    },
  });
  await run();
  expect(created).toEqual([1, 2]);
  expect(answers).toEqual([{ outcomes: ["created"] }]);
});

test("a row that fails has the message of POST /plants, a sentence", async () => {
  const { answers, run } = startImport({
    body: '{"id":1,"name":"a"}\n',
    create: ({ settle }) => settle({ kind: "failed", reason: "a trigger" }),
  });
  await run();
  const message = "Internal error. The log has the details under the request id.";
  expect(answers).toEqual([{ outcomes: [{ error: 50001, message, reason: message }] }]);
});
