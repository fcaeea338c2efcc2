// The follow command: every plant once, on standard output or in a file that is its own state.
import { afterAll, expect, test } from "bun:test";
import { appendFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { startPlantStore } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";
import { operatorFetch } from "../support/operator-requests.ts";
import { post } from "../support/post-plants.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { runInProcess } from "../support/terminal.ts";
import { startTestService } from "../support/test-service.ts";
import { operatorToken } from "../support/tokens.ts";

const service = await startTestService();
const folder = temporaryFolder();
afterAll(async () => {
  await service[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

const environment = { PLANT_STORE_ACCESS_TOKEN: operatorToken };
const follow = (...flags: string[]) =>
  runInProcess(["follow", "--url", service.operatorUrl, ...flags], { environment });

let lastId = 0;
/** Stores two plants, and returns their ids. */
async function addPlants(tag = "t"): Promise<number[]> {
  const ids = [lastId + 1, lastId + 2];
  lastId += 2;
  for (const id of ids) await post(service.url, JSON.stringify({ id, name: "Fern", tag }));
  return ids;
}

const idsIn = (lines: string) =>
  Array.from(lines.matchAll(/^\{"id":(-?\d+),.*\}$/gm), ([, id]) => Number(id));
async function nowCursor(): Promise<string> {
  const response = await operatorFetch(service, "/api/plants?after=now");
  return ((await response.json()) as { next: string }).next;
}

test("follow prints each plant that the filters choose as an export does, with its cursor last, and goes on after one", async () => {
  const after = await nowCursor();
  await post(service.url, '{"id":9223372036854775807,"name":"é\\"\\u0007"}');
  const ids = await addPlants();
  const others = await addPlants("other");
  const { code, out } = await follow("--once", "--after", after);
  expect(code).toBe(0);
  expect(idsIn(out).slice(1)).toEqual([...ids, ...others]);
  const [first = ""] = out.split("\n");
  const exported = await runInProcess(["export", "--database", service.database, "--name", "é"]);
  expect(first).toStartWith(exported.out.trimEnd().slice(0, -1));
  const { cursor } = JSON.parse(first);
  expect(idsIn((await follow("--once", "--after", cursor, "--tag", "other")).out)).toEqual(others);
});

test("follow continues a file from its last plant, and cuts off a line that is not whole", async () => {
  const path = join(folder.path, "plants.ndjson");
  const after = await nowCursor();
  const first = await addPlants();
  expect((await follow("--once", "--output", path, "--after", after)).code).toBe(0);
  appendFileSync(path, '{"id":99,"name":"torn');
  const later = await addPlants();
  expect((await follow("--once", "--output", path)).code).toBe(0);
  expect(idsIn(readFileSync(path, "utf8"))).toEqual([...first, ...later]);
  const { code, err } = await follow("--once", "--output", path, "--after", "now");
  expect(code).toBe(2);
  expect(err).toContain("it goes on from its last one");
});

test.each([
  ["another store", "0123456789abcdef.7.mwn4x488"],
  ["a PostgreSQL database", "1763548800123.-7"],
])("follow names what to do about a file of %s", async (_, cursor) => {
  const path = join(folder.path, `${cursor}.ndjson`);
  writeFileSync(path, `${JSON.stringify({ id: 1, name: "a", createdAt: "", createdBy: "t", cursor })}\n`);
  const { code, err } = await follow("--output", path);
  expect(code).toBe(1);
  expect(err).toContain("The file is of another store");
  expect(err).toContain("follow into a new file");
});

test.each([
  [
    "a token without the scope",
    service.operatorUrl,
    "x".repeat(30),
    "a token with the scope plants:read. Fix that first. To go on",
  ],
  ["no token", service.operatorUrl, "", "--scope plants:read"],
  [
    "the public listener",
    service.url,
    operatorToken,
    "--url, which must be that of the operator listener. Fix that first.",
  ],
])("follow with %s says what it needs", async (_, url, token, says) => {
  const { code, err } = await runInProcess(["follow", "--url", url], {
    environment: { PLANT_STORE_ACCESS_TOKEN: token },
  });
  expect(code).toBeGreaterThan(0);
  expect(err).toContain(says);
});

test("follow prints what is stored while it runs, and ends with 130 after Ctrl-C", async () => {
  await using running = startPlantStore(
    ["follow", "--url", service.operatorUrl, "--after", await nowCursor(), "--every", "20ms"],
    { environment },
  );
  // Whether it has begun is known only by what it prints.
  const ids: number[] = [];
  await eventually(async () => {
    ids.push(...(await addPlants()));
    return idsIn(running.out()).length > 0;
  });
  running.child.kill("SIGINT");
  const { code, err } = await running.ended;
  expect(code).toBe(130);
  expect(err).toMatch(
    /^Interrupted while following \S+, after [\d,]+ plants?\. To go on, name the last cursor/,
  );
  expect(ids).toContain(idsIn(running.out())[0] ?? 0);
});
