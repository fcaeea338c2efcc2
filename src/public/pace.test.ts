import { expect, spyOn, test } from "bun:test";
import { Pace } from "./pace.ts";

test("work is done at once up to the limit, then tick by tick and in order", async () => {
  const pace = new Pace(3, 20);
  const done: number[] = [];
  const finished = Promise.withResolvers<void>();
  for (let number = 0; number < 10; number++)
    pace.run(() => {
      done.push(number);
      if (number === 9) finished.resolve();
    });
  expect(done).toEqual([0, 1, 2]);
  const startMs = performance.now();
  await finished.promise;
  expect(done).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  // Three ticks, of which a busy machine may run two close together.
  expect(performance.now() - startMs).toBeGreaterThan(25);
});

test("after a pause there is room again, but never for more than one tick's worth", async () => {
  const pace = new Pace(2, 5);
  let done = 0;
  const work = () => {
    done++;
  };
  pace.run(work);
  await Bun.sleep(100);
  for (let times = 0; times < 5; times++) pace.run(work);
  expect(done).toBe(3);
});

test("its timer stops when there is nothing left to do", async () => {
  using started = spyOn(globalThis, "setInterval");
  using stopped = spyOn(globalThis, "clearInterval");
  const pace = new Pace(1, 1);
  for (let times = 0; times < 3; times++) pace.run(() => {});
  const timer = started.mock.results[0]?.value as NodeJS.Timeout;
  await Bun.sleep(100);
  expect(stopped.mock.calls.map(([each]) => each)).toContain(timer);
});
