import { expect, test } from "bun:test";
import { SqliteStore } from "../src/storage/sqlite/sqlite-store.ts";
import { operatorToken, post, startTestService, storedPlants, temporaryFolder } from "./harness.ts";

const monthMs = 30 * 24 * 3_600_000;

test("after a start with a clock a month ahead, plants get the right time again", async () => {
  using folder = temporaryFolder();
  const file = `${folder.path}/plants.db`;
  {
    await using ahead = new SqliteStore(file);
    const arrival = { plant: { id: 1n, name: "ahead", tag: undefined }, createdBy: "test" };
    await ahead.plants.create([arrival], Date.now() + monthMs);
  }
  const sinceMs = Date.now();
  for (const firstId of [2, 4]) {
    await using running = await startTestService({}, file);
    for (const id of [firstId, firstId + 1]) await post(running.url, JSON.stringify({ id, name: "now" }));
    if (firstId === 4) {
      const headers = { Authorization: `Bearer ${operatorToken}` };
      const query = `since=${new Date(sinceMs).toISOString()}&until=${new Date(sinceMs + 600_000).toISOString()}`;
      const page = await fetch(`${running.operatorUrl}/api/plants?${query}`, { headers });
      const { plants } = (await page.json()) as { plants: { id: string }[] };
      expect(plants.map(({ id }) => id)).toEqual(["5", "4", "3", "2"]);
    }
  }
  const late = storedPlants(file).filter(({ created_at_ms }) => Number(created_at_ms) > Date.now());
  expect(late.map(({ id }) => id)).toEqual([1n]);
});
