import { describe, expect, test } from "bun:test";
import { readAhead } from "./read-ahead.ts";

describe("reading ahead", () => {
  test("yields what accumulated while the consumer was busy, in order and up to the limit", async () => {
    let read = 0;
    async function* source() {
      for (; read < 100; read++) yield [read];
    }
    const batches: (readonly number[])[] = [];
    for await (const batch of readAhead(source(), 10)) {
      batches.push(batch);
      await Bun.sleep(1);
      expect(read).toBeLessThanOrEqual(batches.flat().length + 10);
    }
    expect(batches.flat()).toEqual(Array.from({ length: 100 }, (_, index) => index));
    expect(batches.length).toBeLessThan(20);
  });

  test("yields what came before a failure of the source, and then fails with it", async () => {
    async function* source() {
      yield [1, 2];
      throw new Error("lost");
    }
    const seen: number[] = [];
    const reading = async () => {
      for await (const batch of readAhead(source(), 10)) seen.push(...batch);
    };
    await expect(reading()).rejects.toThrow("lost");
    expect(seen).toEqual([1, 2]);
  });

  test("closes a source that is left early", async () => {
    let closed = false;
    async function* source() {
      try {
        for (let next = 0; ; next++) yield [next];
      } finally {
        closed = true;
      }
    }
    for await (const batch of readAhead(source(), 10)) if (batch.length > 0) break;
    await Bun.sleep(1);
    expect(closed).toBe(true);
  });
});
