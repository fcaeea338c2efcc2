import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { openStore } from "../../src/storage/open-store.ts";
import { type CitusCluster, citusIsInstalled, startCitus } from "../citus-cluster.ts";
import { eventually, kindsOf, post, startTestService, type TestService } from "../harness.ts";
import { lacks } from "../lacks.ts";
import { runNested } from "../nested-run.ts";

const suites = ["contract", "stores", "slow/exactness", "copy"];
const suitesMsMax = 600_000;
const withCitus = describe.skipIf(lacks("Citus", !citusIsInstalled()));

let cluster: CitusCluster;
let database: string;
const clients = 1500;
const upTo = (count: number) => Array.from({ length: count }, (_, id) => id);
const ready = async (running: TestService) => (await fetch(`${running.url}/readyz`)).status;
const open = () => openStore({ database, databasePassword: undefined, allowUnsafeDatabase: false });
const arrivals = (ids: readonly number[], name = "fern") =>
  ids.map((id) => ({ plant: { id: BigInt(id), name, tag: undefined }, createdBy: "t" }));

async function sendAll(running: TestService): Promise<number[]> {
  const sent = upTo(clients).map((id) => post(running.url, `{"id":${id},"name":"plant ${id}"}`));
  return (await Promise.all(sent)).map(({ status }) => status);
}

withCitus("on Citus", () => {
  beforeAll(async () => {
    cluster = await startCitus(32);
  });
  afterAll(() => cluster[Symbol.asyncDispose]());
  beforeEach(async () => {
    database = await cluster.newDatabase();
  });

  test(
    "the suites of every engine pass",
    () => {
      const files = suites.map((name) => `./test/${name}.test.ts`);
      expect(runNested(files, { PLANT_STORE_TEST_ENGINES: "citus" })).toBe("");
    },
    suitesMsMax,
  );

  test("nodes that race for the same ids of all shards create each once, without a deadlock", async () => {
    const nodes = await Promise.all(upTo(4).map(open));
    const results = await Promise.all(nodes.map(({ plants }) => plants.create(arrivals(upTo(300)), 1)));
    const kinds = kindsOf(results.flat());
    expect(kinds.filter((kind) => kind === "created")).toHaveLength(300);
    expect(kinds.filter((kind) => kind === "replayed")).toHaveLength(900);
    await Promise.all(nodes.map((node) => node[Symbol.asyncDispose]()));
  });

  test("the loss of a worker loses nothing acknowledged, and afterwards all clients that retry together get 200", async () => {
    const [worker] = cluster.workers;
    await using running = await startTestService({}, database);
    const acknowledged = new Set<number>();
    const statuses = new Set<number>();
    let stopped = false;
    using _ = { [Symbol.dispose]: () => (stopped = true) };
    const load = upTo(16).map(async (client) => {
      for (let id = clients + client; !stopped; id += 16) {
        const sent = post(running.url, `{"id":${id},"name":"plant ${id}"}`);
        const status = await sent.then((response) => response.status).catch(() => 0);
        statuses.add(status);
        if (status === 200) acknowledged.add(id);
        else await Bun.sleep(20);
      }
    });
    expect(await sendAll(running)).toEqual(Array(clients).fill(200));
    await worker?.crash();
    await eventually(async () => (await ready(running)) === 503);
    expect((await fetch(`${running.url}/livez`)).status).toBe(200);
    await worker?.start();
    await eventually(async () => (await ready(running)) === 200);
    expect(await sendAll(running)).toEqual(Array(clients).fill(200));
    stopped = true;
    await Promise.all(load);
    expect([...statuses].sort()).toEqual([200, 503]);
    const stored = new Map((await cluster.stored(database)).map(({ id, name }) => [Number(id), name]));
    for (const id of [...upTo(clients), ...acknowledged])
      if (stored.get(id) !== `plant ${id}`) throw new Error(`${id} was acknowledged and is not stored`);
    expect(acknowledged.size).toBeGreaterThan(0);
  });
});
