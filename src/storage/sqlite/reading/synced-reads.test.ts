import { expect, test } from "bun:test";
import { syncedReads } from "./synced-reads.ts";

const file = "plants.db";

test("what a command reads is returned once it is durable", async () => {
  expect(await syncedReads(file, async () => {})(() => "plants")).toBe("plants");
});

test("what a command reads is not returned if it cannot be made durable", async () => {
  const unsynced = syncedReads(file, () => Promise.reject(new Error("not durable")));
  await expect(unsynced(() => "plants")).rejects.toThrow("not durable");
});
