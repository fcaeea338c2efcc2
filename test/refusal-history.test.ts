import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { RefusalHistory } from "../src/operator/refusal-history.ts";
import { operatorToken, post, startTestService, temporaryFolder } from "./harness.ts";

const hourMs = 3_600_000;
const nowMs = Math.floor(Date.now() / hourMs) * hourMs;

interface Overview {
  readonly perHour?: { readonly refusals: readonly number[] };
  readonly refusals: { readonly since: string; readonly reasons: object[]; readonly tokens: object[] };
}

async function overviewOf(operatorUrl: string): Promise<Overview> {
  const headers = { Authorization: `Bearer ${operatorToken}` };
  return (await (await fetch(`${operatorUrl}/api/overview`, { headers })).json()) as Overview;
}

test("what was refused outlives a restart, and a file that cannot be read does not matter", async () => {
  using folder = temporaryFolder();
  const database = join(folder.path, "plants.db");
  let since = "";
  {
    await using first = await startTestService({}, database);
    for (let sent = 0; sent < 3; sent++) await post(first.url, '{"name":"No id"}');
    ({ since } = (await overviewOf(first.operatorUrl)).refusals);
  }
  {
    await using second = await startTestService({}, database);
    await post(second.url, '{"name":"No id"}');
    const { refusals } = await overviewOf(second.operatorUrl);
    expect(refusals.reasons).toMatchObject([{ error: 40010, count: 4 }]);
    expect(refusals.tokens).toEqual([{ token: "preset-access", count: 4 }]);
    expect(refusals.since).toBe(since);
  }
  writeFileSync(`${database}.figures.json`, '{"hours":');
  await using third = await startTestService({}, database);
  expect((await overviewOf(third.operatorUrl)).refusals.reasons).toEqual([]);
});

test("the history is bounded: a week of hours, and so many tokens in each", async () => {
  let counts: { error: number; token: string; count: number }[] = [];
  await using history = new RefusalHistory([{ takeRefusals: () => counts.splice(0) }]);
  for (let hour = 200; hour >= 0; hour--) {
    counts = Array.from({ length: 300 }, (_, index) => ({ error: 40020, token: `token ${index}`, count: 2 }));
    await history.collect(nowMs - hour * hourMs);
  }
  expect(history.perHour(nowMs - 169 * hourMs, 170)).toEqual([0, 0, ...new Array(168).fill(600)]);
  const { reasons, tokens } = history.present();
  expect(reasons).toMatchObject([{ error: 40020, count: 168 * 600 }]);
  expect(tokens).toHaveLength(10);
  expect(tokens[0]).toEqual({ token: "token 0", count: 2 * 168 });
});
