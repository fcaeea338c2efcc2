// Every int64 stays exact, through all that reads and writes plants.
import { expect, test } from "bun:test";
import fc from "fast-check";
import { onEveryEngine } from "../support/engines.ts";
import { post } from "../support/post-plants.ts";

const int64 = fc.oneof(
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  fc.constantFrom(-(2n ** 63n), 2n ** 63n - 1n, 2n ** 53n, 2n ** 53n + 1n, -(2n ** 53n) - 1n, 0n, -1n),
);
const text = fc.string({ unit: "binary", maxLength: 40 }).filter((value) => !value.includes("\u0000"));

onEveryEngine((engine) => {
  test("every int64 and every text is in the store exactly as it was sent", async () => {
    await using service = await engine.start();
    const plants = new Map<bigint, { name: string; tag: string | undefined }>();
    await fc.assert(
      fc.asyncProperty(int64, text, fc.option(text, { nil: undefined }), async (id, name, tag) => {
        if (plants.has(id)) return;
        plants.set(id, { name, tag });
        const response = await post(service.url, `{"id":${id},${JSON.stringify({ name, tag }).slice(1)}`);
        expect(response.status).toBe(200);
        expect(await response.json()).toEqual(JSON.parse(JSON.stringify({ name, tag })));
      }),
      { numRuns: 400 },
    );
    const stored = await engine.stored(service.database);
    expect(stored).toHaveLength(plants.size);
    for (const { id, name, tag } of stored)
      expect({ id, name, tag: tag ?? undefined }).toEqual({ id, ...plants.get(id) } as never);
  });
});
