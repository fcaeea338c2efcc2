import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { onEveryEngine } from "./engines.ts";
import { eventually, post, startTestService, storedPlants } from "./harness.ts";

onEveryEngine((engine) => {
  test("a hundred concurrent copies of one plant are created once and replayed otherwise", async () => {
    await using running = await engine.start();
    const responses = await Promise.all(
      Array.from({ length: 100 }, () => post(running.url, '{"id":7,"name":"Fern"}')),
    );
    expect(responses.every(({ status }) => status === 200)).toBe(true);
    expect(responses.filter(({ headers }) => headers.get("idempotent-replayed") === "true")).toHaveLength(99);
    expect(await engine.stored(running.database)).toMatchObject([{ id: 7n, name: "Fern" }]);
  });

  test("exactly one of the plants racing for an id is created, and it is the one in the store", async () => {
    await using running = await engine.start();
    for (let id = 0; id < 20; id++) {
      const names = Array.from({ length: 16 }, (_, index) => `racer ${index}`);
      const responses = await Promise.all(
        names.map((name) => post(running.url, JSON.stringify({ id, name }))),
      );
      const winners = names.filter((_, index) => responses[index]?.status === 200);
      expect(winners).toHaveLength(1);
      const losers = responses.filter(({ status }) => status === 400);
      expect(losers).toHaveLength(15);
      expect(await losers[0]?.json()).toMatchObject({ error: 40020 });
      expect((await engine.stored(running.database)).find((plant) => plant.id === BigInt(id))?.name).toBe(
        winners[0] as string,
      );
    }
  });
});

test("a full queue answers 50301, and stores what is queued once the data file is unlocked", async () => {
  await using running = await startTestService({ "max-pending": "4" });
  const lock = new Database(running.database);
  lock.run("BEGIN IMMEDIATE");
  const asked = Array.from({ length: 64 }, (_, id) => post(running.url, `{"id":${id},"name":"a"}`));
  await eventually(() => running.logged.filter((line) => line.includes("50301")).length >= 20);
  lock.run("ROLLBACK");
  lock.close();
  const responses = await Promise.all(asked);
  const busy = responses.filter(({ status }) => status === 503);
  expect(await busy[0]?.json()).toMatchObject({ error: 50301 });
  expect(busy[0]?.headers.get("retry-after")).toBe("1");
  const stored = responses.flatMap(({ status }, id) => (status === 200 ? [BigInt(id)] : []));
  expect(stored.length).toBeGreaterThanOrEqual(4);
  expect(storedPlants(running.database).map(({ id }) => id)).toEqual(stored);
});
