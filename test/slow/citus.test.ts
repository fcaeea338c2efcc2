// The suites that run on every engine, on a cluster of Citus.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { minuteMs } from "../../src/text/duration.ts";
import { Clients } from "../soak/rounds.ts";
import { type CitusCluster, citusIsInstalled, startCitus } from "../support/citus-cluster.ts";
import { eventually } from "../support/eventually.ts";
import { lacks } from "../support/lacks.ts";
import { runNested } from "../support/nested-run.ts";
import { openStoreAt } from "../support/open-engine-store.ts";
import { post, statusOf } from "../support/post-plants.ts";
import { kindsOf, testPlants } from "../support/stored-plants.ts";
import { startTestService } from "../support/test-service.ts";

const suites = [
  "public/contract",
  "slow/exactness",
  "storage/audit",
  "storage/copy",
  "storage/plants",
  "storage/reading",
  "storage/tokens",
];
const suitesMsMax = 10 * minuteMs;
const withCitus = describe.skipIf(lacks("Citus", !citusIsInstalled()));

let cluster: CitusCluster;
let database: string;
const clients = 1500;
const upTo = (count: number) => Array.from({ length: count }, (_, id) => id);
const open = () => openStoreAt(database);
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
    const batch = testPlants(upTo(300));
    const results = await Promise.all(nodes.map(({ plants }) => plants.create(batch, 1)));
    const kinds = kindsOf(results.flat());
    expect(kinds.sort()).toEqual([...Array(300).fill("created"), ...Array(900).fill("replayed")]);
    await Promise.all(nodes.map((node) => node[Symbol.asyncDispose]()));
  });

  test("the loss of a worker loses nothing acknowledged, and afterwards all clients that retry together get 200", async () => {
    const [worker] = cluster.workers;
    await using service = await startTestService({ database });
    await using load = new Clients(16, () => service.url);
    const sendAll = async (): Promise<number[]> => {
      const sent = upTo(clients).map((id) => post(service.url, `{"id":${id + 1},"name":"fern"}`));
      return (await Promise.all(sent)).map(({ status }) => status);
    };
    expect(await sendAll()).toEqual(Array(clients).fill(200));
    await load.acknowledgedAgain();
    await worker?.crash();
    await eventually(async () => (await statusOf(service.url, "/readyz")) === 503);
    expect(await statusOf(service.url, "/livez")).toBe(200);
    await worker?.start();
    await eventually(async () => (await statusOf(service.url, "/readyz")) === 200);
    expect(await sendAll()).toEqual(Array(clients).fill(200));
    await load.stop();
    expect(await load.lostIn(() => cluster.stored(database))).toBe(0);
    expect(service.logged.join("")).not.toContain("internal error");
  });
});
