import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import { openStore } from "../src/storage/open-store.ts";
import { Server } from "../src/storage/postgres/connection.ts";
import { Connections } from "../src/storage/postgres/connections.ts";
import { PostgresPlants } from "../src/storage/postgres/postgres-plants.ts";
import { eventually, kindsOf, post, startTestService } from "./harness.ts";
import { type PostgresServer, startPostgres } from "./postgres.ts";

let server: PostgresServer;
let database: string;
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(() => server[Symbol.asyncDispose]());
beforeEach(async () => {
  database = await server.newDatabase();
});

const options = { databasePassword: undefined, allowUnsafeDatabase: false };
const clients = 1500;
const upTo = (count: number) => Array.from({ length: count }, (_, id) => id);
const arrivals = (count: number) =>
  upTo(count).map((id) => ({ plant: { id: BigInt(id), name: "fern", tag: undefined }, createdBy: "t" }));

test("the statements for Citus create, replay and refuse as those for PostgreSQL do", async () => {
  const citus = `${database}?options=-c%20citus.shard_count%3D8`;
  await using store = await openStore({ ...options, database: citus });
  expect(kindsOf(await store.plants.create(arrivals(1000), 1))).toEqual(Array(1000).fill("created"));
  const rose = { plant: { id: 7n, name: "rose", tag: "red" }, createdBy: "t" };
  const batch = [...arrivals(5), rose, ...arrivals(1001).slice(-1)];
  const results = await store.plants.create(batch, 2);
  const replayed = Array(5).fill("replayed");
  expect(kindsOf(results)).toEqual([...replayed, "conflict", "created"]);
  expect(results[5]).toEqual({ kind: "conflict", differing: ["name", "tag"] });
  const last = (await server.stored(database)).at(-1);
  expect(last).toEqual({ id: 1000n, name: "fern", tag: null, created_at_ms: 2n, created_by: "t" });
});

test("a server too slow for a full batch in one statement stores it in smaller ones", async () => {
  await (await openStore({ ...options, database }))[Symbol.asyncDispose]();
  await server.run(
    `CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS
       $$ BEGIN PERFORM pg_sleep(0.001); RETURN NEW; END $$;
     CREATE TRIGGER slow BEFORE INSERT ON plants FOR EACH ROW EXECUTE FUNCTION wait()`,
    database,
  );
  // A statement may take 0.2 s here, and a batch needs twice as long.
  await using connections = new Connections({
    server: new Server(database, options),
    count: 4,
    statementMsMax: 200,
  });
  using plants = new PostgresPlants(connections, 4);
  const batch = arrivals(400);
  // A statement may be committed just after its time was over, and its plants are then found.
  const kinds = kindsOf(await plants.create(batch, 1));
  expect(kinds.filter((kind) => kind !== "created" && kind !== "replayed")).toEqual([]);
  const again = await Promise.all([plants.create(batch, 2), plants.create(batch, 2)]);
  expect(kindsOf(again.flat())).toEqual(Array(800).fill("replayed"));
}, 30_000);

test(`after a restart of the server, ${clients} clients that retry together all get 200`, async () => {
  await using running = await startTestService({}, database);
  const sendAll = async () => {
    const responses = await Promise.all(
      upTo(clients).map((id) => post(running.url, `{"id":${id},"name":"fern"}`)),
    );
    return responses.map(({ status }) => status);
  };
  expect(await sendAll()).toEqual(Array(clients).fill(200));
  await server.stop("immediate");
  await eventually(async () => (await fetch(`${running.url}/readyz`)).status === 503, 4000);
  await server.start();
  await eventually(async () => (await fetch(`${running.url}/readyz`)).status === 200, 4000);
  expect(await sendAll()).toEqual(Array(clients).fill(200));
  expect(await server.stored(database)).toHaveLength(clients);
}, 30_000);
