import { expect, test } from "bun:test";
import { outcomesToText } from "./arrivals-text.ts";
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
