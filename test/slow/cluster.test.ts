// Several nodes and a PostgreSQL with a standby, which is promoted.
import { expect, test } from "bun:test";
import { runCluster } from "../soak/postgres.ts";

test("nodes lose nothing acknowledged when they and the primary are killed, and the standby is promoted", async () => {
  const { acknowledged, lost } = await runCluster({ rounds: 1, random: Math.random, tell: () => {} });
  expect(acknowledged).toBeGreaterThan(100);
  expect(lost).toBe(0);
}, 600_000);
