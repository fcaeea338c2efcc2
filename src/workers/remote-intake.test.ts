import { expect, test } from "bun:test";
import { arrivalsFromText, outcomesToText } from "./arrivals-text.ts";
import { RemoteIntake } from "./remote-intake.ts";

test("a settle that throws does not prevent the rest of its batch from being settled", async () => {
  const failures: string[] = [];
  const settled: string[] = [];
  const last = Promise.withResolvers<void>();
  const outcomes = outcomesToText([{ kind: "created" }, { kind: "replayed" }, "store-unavailable"]);
  const main = { ask: async () => outcomes as never };
  const intake = new RemoteIntake(main, (error) => failures.push(String(error)));
  const create = (id: bigint, settle: (outcome: unknown) => void): void =>
    intake.create({ id, name: "fern", tag: undefined }, "test", settle);
  create(1n, () => {
    throw new Error("the connection is in a state that nobody expected");
  });
  create(2n, (outcome) => settled.push(JSON.stringify(outcome)));
  create(3n, (outcome) => {
    settled.push(JSON.stringify(outcome));
    last.resolve();
  });
  await Promise.race([last.promise, Bun.sleep(500)]);
  expect(settled).toEqual(['{"kind":"replayed"}', '"store-unavailable"']);
  expect(failures).toEqual(["Error: the connection is in a state that nobody expected"]);
});

test("the plants of one turn go over as one message, and those of the next as another", async () => {
  const messages: string[] = [];
  const main = {
    async ask(_method: string, ...values: unknown[]) {
      messages.push(...values.map(String));
      return "" as never;
    },
  };
  const intake = new RemoteIntake(main, () => {});
  const create = (id: bigint) =>
    new Promise((settle) => intake.create({ id, name: "fern", tag: undefined }, "test", settle));
  expect(await Promise.all([create(1n), create(2n)])).toEqual([{ kind: "created" }, { kind: "created" }]);
  await create(3n);
  await new Promise((resolve) => setImmediate(resolve));
  expect(messages.map((text) => arrivalsFromText(text).map(({ plant }) => plant.id))).toEqual([
    [1n, 2n],
    [3n],
  ]);
});
