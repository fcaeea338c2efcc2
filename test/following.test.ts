import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import {
  eventually,
  operatorToken,
  post,
  startTestService,
  type TestService,
  temporaryFolder,
} from "./harness.ts";
import { lacks } from "./lacks.ts";
import { runInProcess } from "./terminal.ts";

function get({ operatorUrl }: TestService, query: string): Promise<Response> {
  const headers = { Authorization: `Bearer ${operatorToken}` };
  return fetch(`${operatorUrl}/api/plants?${query}`, { headers });
}

async function list(service: TestService, query: string) {
  const response = await get(service, query);
  expect([query, response.status]).toEqual([query, 200]);
  return JSON.parse(await response.text());
}

/** Everything after the cursor, as a client reads it that asks at once while there is more. */
async function follow(service: TestService, after: string) {
  const ids: number[] = [];
  for (let cursor = after; ; ) {
    const page = await list(service, `after=${cursor}&limit=1000`);
    ids.push(...page.plants.map(({ id }: { id: string }) => Number(id)));
    cursor = page.next;
    if (page.next === page.newest) return { ids, cursor };
  }
}

async function addPlants(service: TestService, ids: readonly number[]): Promise<void> {
  const sent = ids.map((id) => post(service.url, JSON.stringify({ id, name: `n${id}`, tag: "t" })));
  expect((await Promise.all(sent)).map(({ status }) => status)).toEqual(ids.map(() => 200));
}

test("every page of the list names the newest cursor, from which a client gets what is stored later", async () => {
  await using running = await startTestService();
  const { newest: ofEmpty } = await list(running, "");
  expect(await list(running, `after=${ofEmpty}`)).toMatchObject({ plants: [], next: ofEmpty });
  await addPlants(running, [1]);
  await addPlants(running, [2]);
  expect((await post(running.url, '{"id":-9007199254740993,"name":"exact"}')).status).toBe(200);
  const { newest } = await list(running, "limit=1");
  const { plants, next } = await list(running, `after=${ofEmpty}`);
  expect(plants).toMatchObject([{ id: "1" }, { id: "2" }, { id: "-9007199254740993" }]);
  await addPlants(running, [4]);
  for (const cursor of [newest, next]) expect((await follow(running, cursor)).ids).toEqual([4]);
  expect((await follow(running, "0")).ids).toHaveLength(4);
  for (const query of ["after=", "after=x", "after=1.x", "after=0&cursor=1"])
    expect([query, await (await get(running, query)).json()]).toMatchObject([query, { error: 40031 }]);
});

test.skipIf(lacks("jq", Bun.which("jq") === null))(
  "the script in the documents follows the store, and resumes",
  async () => {
    await using running = await startTestService();
    const name = '"back\\\\nslash" and ü';
    await addPlants(running, [1]);
    await post(running.url, JSON.stringify({ id: 2, name }));
    const documents = readFileSync("docs/import-export.md", "utf8");
    const [, script = ""] = /## Following the store[\s\S]*?```sh\n([\s\S]*?)```/.exec(documents) ?? [];
    using folder = temporaryFolder();
    const text = (file: string) => Bun.file(join(folder.path, file)).text();
    for (const id of [3, 4]) {
      const following = Bun.spawn(
        ["sh", "-c", script.replace("http://127.0.0.1:3001", running.operatorUrl)],
        {
          cwd: folder.path,
          env: { PATH: process.env["PATH"] ?? "", TOKEN: operatorToken },
          stderr: "ignore",
        },
      );
      await eventually(async () => (await text("plants.ndjson")).includes(`"id":"${id - 1}"`));
      await addPlants(running, [id]);
      await eventually(async () => (await text("plants.ndjson")).includes(`"id":"${id}"`));
      // A client that is killed before it saves the cursor gets these plants again.
      const { newest } = await list(running, "");
      await eventually(async () => (await text("cursor")) === `${newest}\n`);
      following.kill();
      await following.exited;
    }
    const lines = (await text("plants.ndjson")).trim().split("\n");
    const plants = lines.map((line) => JSON.parse(line));
    expect(plants).toMatchObject([{ id: "1" }, { id: "2", name }, { id: "3" }, { id: "4" }]);
  },
);

test("41001: a cursor of another store, or of this one before it was restored or put back", async () => {
  using folder = temporaryFolder();
  const path = (name: string) => join(folder.path, name);
  const cursors: string[] = [];
  {
    await using running = await startTestService({}, path("plants.db"));
    await addPlants(running, [1, 2]);
    const backUp = ["backup", path("put-back.db"), "--database", path("plants.db")];
    expect((await runInProcess(backUp)).code).toBe(0);
    await addPlants(running, [3]);
    cursors.push((await follow(running, "0")).cursor, (await list(running, "")).newest);
  }
  const restore = ["restore", path("put-back.db"), "--database", path("restored.db")];
  expect((await runInProcess(restore)).code).toBe(0);
  for (const name of ["restored.db", "put-back.db", "another.db"]) {
    await using running = await startTestService({}, path(name));
    // Also once it has as many plants as the cursor's store had.
    for (const ids of [[], [11, 12, 13]]) {
      await addPlants(running, ids);
      for (const cursor of cursors) {
        const response = await get(running, `after=${cursor}`);
        const message = expect.stringContaining("Start again with after=0");
        expect([name, await response.json()]).toEqual([name, { error: 41001, message }]);
      }
    }
  }
});
