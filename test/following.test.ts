import { describe, expect, test } from "bun:test";
import { copyFileSync, readFileSync } from "node:fs";
import { join } from "node:path";
import pg from "pg";
import { serve } from "./command.ts";
import { type Engine, onEveryEngine } from "./engines.ts";
import {
  accessToken,
  eventually,
  operatorToken,
  post,
  startTestService,
  type TestService,
  temporaryFolder,
} from "./harness.ts";
import { canRecordSyncs, recordSyncs } from "./syncs.ts";
import { runInProcess } from "./terminal.ts";

interface Page {
  readonly plants: readonly { readonly id: string; readonly name: string }[];
  readonly next: string;
  readonly newest: string;
}

type Addresses = Pick<TestService, "url" | "operatorUrl">;

const asOperator = { Authorization: `Bearer ${operatorToken}` };
const numbers = (count: number, from = 0) => Array.from({ length: count }, (_, index) => from + index);
const idsOf = ({ plants }: Pick<Page, "plants">) => plants.map(({ id }) => Number(id));

function get({ operatorUrl }: Addresses, query: string, headers = asOperator): Promise<Response> {
  return fetch(`${operatorUrl}/api/plants?${query}`, { headers });
}

async function list(service: Addresses, query: string): Promise<Page> {
  const response = await get(service, query);
  expect([query, response.status]).toEqual([query, 200]);
  return (await response.json()) as Page;
}

/** Everything after the cursor, as a client reads it that asks at once while there is more. */
async function follow(service: Addresses, after: string, query = "limit=1000") {
  const ids: number[] = [];
  for (let cursor = after; ; ) {
    const page = await list(service, `after=${cursor}&${query}`);
    ids.push(...idsOf(page));
    cursor = page.next;
    if (page.next === page.newest) return { ids, cursor };
  }
}

async function addPlants(service: Addresses, ids: readonly number[], tag = "t"): Promise<void> {
  const sent = ids.map((id) => post(service.url, JSON.stringify({ id, name: `n${id}`, tag })));
  expect((await Promise.all(sent)).map(({ status }) => status)).toEqual(ids.map(() => 200));
}

onEveryEngine((engine) => {
  test("every page of the list names the newest cursor, from which a client gets what is stored later", async () => {
    await using running = await engine.start();
    const { newest: ofEmpty } = await list(running, "");
    expect(await list(running, `after=${ofEmpty}`)).toMatchObject({ plants: [], next: expect.any(String) });
    await addPlants(running, [1]);
    await addPlants(running, [2]);
    expect((await post(running.url, '{"id":-9007199254740993,"name":"exact"}')).status).toBe(200);
    const { newest } = await list(running, "limit=1");
    const { plants, next } = await list(running, `after=${ofEmpty}`);
    expect(plants).toMatchObject([{ id: "1" }, { id: "2" }, { id: "-9007199254740993" }]);
    await addPlants(running, [4]);
    for (const cursor of [newest, next]) expect((await follow(running, cursor)).ids).toContain(4);
    expect((await follow(running, "0")).ids).toHaveLength(4);
  });

  test("filters apply to what is followed, and the cursor passes what does not match", async () => {
    await using running = await engine.start();
    const { newest } = await list(running, "");
    await addPlants(running, numbers(30, 1), "tree");
    await addPlants(running, numbers(30, 31), "bush");
    await addPlants(running, [61], "tree");
    const followed = async (query: string) =>
      (await follow(running, newest, query)).ids.sort((a, b) => a - b);
    expect(await followed("tag=bush&limit=1000")).toEqual(numbers(30, 31));
    expect(await followed("tag=tree&name=N6&limit=1000")).toEqual([6, 61]);
    expect(await followed("id=61")).toEqual([61]);
    expect(await followed("token=nobody")).toEqual([]);
    if (engine.name === "sqlite") {
      const { cursor } = await follow(running, newest, "tag=bush");
      expect(cursor).toBe((await list(running, "")).newest);
    }
  });

  test("what is not a cursor is a wrong parameter, and callers need the scope", async () => {
    await using running = await engine.start();
    for (const query of ["after=", "after=x", "after=1.x", "after=0&cursor=1", "after=0&order=oldest"]) {
      const response = await get(running, query);
      expect([query, response.status, await response.json()]).toEqual([
        query,
        400,
        expect.objectContaining({ error: 40031 }),
      ]);
    }
    const asClient = { Authorization: `Bearer ${accessToken}` };
    expect((await get(running, "after=0", asClient)).status).toBe(403);
  });

  test.skipIf(Bun.which("jq") === null)(
    "the script in the documents follows the store, and resumes",
    async () => {
      await using running = await engine.start();
      const name = '"back\\\\nslash" and ü';
      await addPlants(running, [1]);
      await post(running.url, JSON.stringify({ id: 2, name }));
      const [, script = ""] =
        /## Following the store[\s\S]*?```sh\n([\s\S]*?)```/.exec(
          readFileSync("docs/import-export.md", "utf8"),
        ) ?? [];
      using folder = temporaryFolder();
      const run = () =>
        Bun.spawn(["sh", "-c", script.replace("http://127.0.0.1:3001", running.operatorUrl)], {
          cwd: folder.path,
          env: { PATH: process.env["PATH"] ?? "", TOKEN: operatorToken },
          stderr: "ignore",
        });
      const copied = () => Bun.file(join(folder.path, "plants.ndjson")).text();
      for (const id of [3, 4]) {
        const following = run();
        await eventually(async () => (await copied().catch(() => "")).includes(`"id":"${id - 1}"`));
        await addPlants(running, [id]);
        await eventually(async () => (await copied()).includes(`"id":"${id}"`));
        // A client that is killed before it saves the cursor gets these plants again.
        const { newest } = await list(running, "");
        if (engine.name === "sqlite")
          await eventually(
            async () => (await Bun.file(join(folder.path, "cursor")).text()) === `${newest}\n`,
          );
        following.kill();
        await following.exited;
      }
      const plants = (await copied())
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line) as Page["plants"][number]);
      expect(plants.find(({ id }) => id === "2")?.name).toBe(name);
      const ids = plants.map(({ id }) => id);
      if (engine.name === "sqlite") expect(ids).toEqual(["1", "2", "3", "4"]);
      else expect([...new Set(ids)]).toEqual(["1", "2", "3", "4"]);
    },
    30_000,
  );

  if (engine.name === "postgres") onPostgres(engine);
});

describe("on SQLite", () => {
  test("each plant comes exactly once, in order, while plants are created concurrently", async () => {
    await using running = await startTestService();
    const all = numbers(1500);
    const creating = (async () => {
      for (let from = 0; from < all.length; from += 100)
        await addPlants(running, all.slice(from, from + 100));
    })();
    const followers = ["limit=37", "limit=1000&tag=t", "limit=200&name=n"].map(async (query) => {
      const ids: number[] = [];
      for (let cursor = "0"; ids.length < all.length; ) {
        const page = await follow(running, cursor, query);
        ids.push(...page.ids);
        cursor = page.cursor;
      }
      return ids;
    });
    await creating;
    const listed: number[] = [];
    for (let cursor = ""; listed.length < all.length; ) {
      const page = await list(running, `order=oldest&limit=1000${cursor && `&cursor=${cursor}`}`);
      listed.push(...idsOf(page));
      cursor = page.next;
    }
    expect(listed.toSorted((a, b) => a - b)).toEqual(all);
    for (const ids of await Promise.all(followers)) expect(ids).toEqual(listed);
  }, 30_000);

  test("41001: a cursor of another store, or of this one before it was restored or put back", async () => {
    using folder = temporaryFolder();
    const [file, backup] = [join(folder.path, "plants.db"), join(folder.path, "backup.db")];
    const cursors: string[] = [];
    {
      await using running = await startTestService({}, file);
      await addPlants(running, [1, 2]);
      expect((await runInProcess(["backup", backup, "--database", file])).code).toBe(0);
      await addPlants(running, [3]);
      cursors.push((await follow(running, "0")).cursor, (await list(running, "")).newest);
    }
    const restored = join(folder.path, "restored.db");
    expect((await runInProcess(["restore", backup, "--database", restored])).code).toBe(0);
    const putBack = join(folder.path, "put-back.db");
    copyFileSync(backup, putBack);
    for (const path of [restored, putBack, join(folder.path, "another.db")]) {
      await using running = await startTestService({}, path);
      // Also once it has as many plants as the cursor's store had.
      for (const ids of [[], [11, 12, 13]]) {
        await addPlants(running, ids);
        for (const cursor of cursors) {
          const response = await get(running, `after=${cursor}`);
          expect([path, response.status, await response.json()]).toEqual([
            path,
            410,
            { error: 41001, message: expect.stringContaining("Start again with after=0") },
          ]);
        }
      }
      expect((await follow(running, "0")).ids).toContain(13);
    }
  }, 30_000);

  test.skipIf(!canRecordSyncs)("no plant is ever shown whose fsync failed", async () => {
    using folder = temporaryFolder();
    const syncs = recordSyncs(folder.path, "-wal");
    const environment = { PLANT_STORE_ACCESS_TOKEN: accessToken, PLANT_STORE_OPERATOR_TOKEN: operatorToken };
    await using service = await serve(["--database", join(folder.path, "plants.db")], {
      environment: { ...environment, ...syncs.environment },
    });
    await addPlants(service, [1]);
    const seen = new Set<string>();
    let reads = 0;
    const polling = (async () => {
      for (;;) {
        const { plants } = (await (await get(service, "after=0")).json()) as Partial<Page>;
        for (const { id } of plants ?? []) seen.add(id);
        reads++;
      }
    })().catch(() => {});
    await eventually(() => reads > 3);
    syncs.failFromNowOn();
    expect((await post(service.url, '{"id":2,"name":"not synced"}')).status).toBe(503);
    // It ends with the service.
    await polling;
    expect([...seen]).toEqual(["1"]);
  });
});

function onPostgres(engine: Engine): void {
  async function connected(database: string): Promise<pg.Client & AsyncDisposable> {
    const client = new pg.Client(database);
    await client.connect();
    return Object.assign(client, { [Symbol.asyncDispose]: () => client.end() });
  }

  const insert =
    "INSERT INTO plants (id, name, tag, created_at_ms, created_by) VALUES ($1, $2, 'tree', $3, 't')";

  for (const filter of ["", "&tag=tree", "&name=late"])
    test(`what another node commits late is not missed (${filter || "no filter"})`, async () => {
      await using running = await engine.start();
      await using other = await connected(running.database);
      let { newest: cursor } = await list(running, "");
      await other.query("BEGIN");
      await other.query(insert, [1, "late", Date.now()]);
      await addPlants(running, [2, 3, 4], "tree");
      // Several times, so that the cursor goes as far as it can.
      for (let reads = 0; reads < 3; reads++) {
        const page = await list(running, `after=${cursor}${filter}`);
        expect(idsOf(page)).not.toContain(1);
        cursor = page.next;
      }
      await other.query("COMMIT");
      expect(idsOf(await list(running, `after=${cursor}${filter}`))).toContain(1);
    }, 20_000);

  test("the cursor is never later than seven seconds before now, and plants come again until they are that old", async () => {
    await using running = await engine.start();
    await using other = await connected(running.database);
    const nowMs = Date.now();
    await other.query(insert, [1, "settled", nowMs - 60_000]);
    await other.query(insert, [2, "settled, at the same time", nowMs - 60_000]);
    await other.query(insert, [3, "newer", nowMs + 600_000]);
    const first = await list(running, "after=0&limit=1");
    expect(idsOf(first)).toEqual([1]);
    const second = await list(running, `after=${first.next}&limit=1`);
    expect(idsOf(second)).toEqual([2]);
    const third = await list(running, `after=${second.next}`);
    expect(idsOf(third)).toEqual([3]);
    expect(third.next).toBe(third.newest);
    expect(idsOf(await list(running, `after=${third.next}`))).toEqual([3]);
    // A cursor from a later time, as of a server whose clock was ahead, brings nothing, and the next one is in the past again.
    const ahead = await list(running, `after=${nowMs + 900_000}.0`);
    expect([ahead.plants, ahead.next]).toEqual([[], ahead.newest]);
    expect(idsOf(await list(running, `after=${ahead.next}`))).toEqual([3]);
  }, 20_000);

  test("a client whose pages hold less than seven seconds of plants gets them all, once they are old enough", async () => {
    await using running = await engine.start();
    const { newest } = await list(running, "");
    await addPlants(running, numbers(20));
    const seen = new Set<number>();
    let cursor = newest;
    await eventually(async () => {
      const page = await list(running, `after=${cursor}&limit=3`);
      for (const id of idsOf(page)) seen.add(id);
      cursor = page.next;
      return seen.size === 20;
    }, 30_000);
    // And then no more of them.
    expect((await follow(running, cursor, "limit=3")).ids.length).toBeLessThanOrEqual(3);
  }, 45_000);
}
