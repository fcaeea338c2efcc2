import { expect, test } from "bun:test";
import { eventually } from "../../test/support/eventually.ts";
import { fake } from "../../test/support/fake.ts";
import { RateLimit } from "../access/rate-limit.ts";
import type { Caller } from "../access/scopes.ts";
import type { Exchange } from "../http/exchange.ts";
import { denial, Refusal } from "../http/refusal.ts";
import type { Intake } from "../plants/intake.ts";
import type { PlantArchive } from "../plants/plant-archive.ts";
import type { Events } from "../telemetry/events.ts";
import type { ActionRecorder } from "./action-recorder.ts";
import { importHandlers } from "./imports.ts";

const caller: Caller = { name: "a", scopes: ["plants:create", "operator:read"], expiresAtMs: undefined };

interface ImportOptions {
  /** What is imported; by default five rows that are no plants, so that none needs a store. */
  readonly body?: string;
  readonly isAllowed?: () => boolean;
  readonly isServing?: () => boolean;
  readonly create?: Intake["create"];
  readonly rate?: { readonly count: number; readonly perMs: number };
}

/** Imports the body, and returns what is responded. */
function startImport({
  body,
  isAllowed = () => true,
  isServing = () => true,
  create,
  rate = { count: 100, perMs: 1000 },
}: ImportOptions) {
  const imports = importHandlers({
    rateLimit: new RateLimit(rate),
    intake: fake<Intake>({ ...(create && { create }) }),
    events: fake<Events>({ internalError() {} }),
    actions: fake<ActionRecorder>({}),
    archive: fake<PlantArchive>({}),
    lineBytesMax: 1000,
  });
  const exchange = fake<Exchange>({
    recheck: () => (isAllowed() ? undefined : denial("bad-credentials", "plants:create")),
    refuseWhileDraining() {
      if (!isServing()) throw new Refusal("closing");
    },
    receiveBody: async () => Buffer.from(body ?? "not a plant\n".repeat(5)),
  });
  return async () => {
    const reply = await imports.importPart({ exchange, caller, values: { file: undefined } });
    return JSON.parse(String(reply.body)).outcomes;
  };
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
    const run = startImport(questions());
    expect(await run()).toMatchObject([{ error: 40002 }, { error: 40002 }]);
    await expect(run()).rejects.toMatchObject({ headers });
  },
);

test("an import creates no plant of a row after one that is rejected", async () => {
  const created: number[] = [];
  const run = startImport({
    body: [1, 2, 3].map((id) => `{"id":${id},"name":"a"}\n`).join(""),
    create({ plant, settle }) {
      created.push(Number(plant.id));
      settle({ kind: plant.id === 2n ? "too-busy" : "created" });
    },
  });
  expect(await run()).toEqual(["created"]);
  expect(created).toEqual([1, 2]);
});

test("a row that fails has the message of POST /plants, a sentence", async () => {
  const run = startImport({
    body: '{"id":1,"name":"a"}\n',
    create: ({ settle }) => settle({ kind: "failed", reason: "a trigger" }),
  });
  const message = "Internal error. The log has the details under the request id.";
  expect(await run()).toEqual([{ error: 50001, message, reason: message }]);
});

// A promise that rejects without a handler fails the test.
test("an import whose row fails while the next waits for the rate limit fails", async () => {
  const run = startImport({
    body: '{"id":1,"name":"a"}\n{"id":2,"name":"b"}\n',
    rate: { count: 1, perMs: 50 },
    create() {
      throw new Error("unforeseen");
    },
  });
  await expect(run()).rejects.toThrow("unforeseen");
});

test("one caller may have four imports at a time", async () => {
  const waiting: (() => void)[] = [];
  const run = startImport({
    body: '{"id":1,"name":"a"}\n',
    create: ({ settle }) => void waiting.push(() => settle({ kind: "created" })),
  });
  const running = Array.from({ length: 4 }, run);
  await eventually(() => waiting.length === 4);
  await expect(run()).rejects.toMatchObject({ kind: "too-busy" });
  for (const finish of waiting) finish();
  expect(await Promise.all(running)).toEqual(Array(4).fill(["created"]));
  const next = run();
  await eventually(() => waiting.length === 5);
  waiting[4]?.();
  expect(await next).toEqual(["created"]);
});
