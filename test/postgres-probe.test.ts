import { afterAll, beforeAll, expect, test } from "bun:test";
import { Connections } from "../src/storage/postgres/connections.ts";
import { parseDatabaseUrl } from "../src/storage/postgres/database-url.ts";
import { openConnection } from "../src/storage/postgres/open-connection.ts";
import { PostgresStore } from "../src/storage/postgres/postgres-store.ts";
import { WriteProbe } from "../src/storage/postgres/write-probe.ts";
import { type PostgresServer, startPostgres } from "./postgres.ts";

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(() => server[Symbol.asyncDispose]());

const raise = `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no'; END $$;
  CREATE TRIGGER refuse BEFORE INSERT ON plants FOR EACH ROW EXECUTE FUNCTION refuse()`;

for (const [what, sql] of [
  ["no rule", "SELECT 1"],
  ["a CHECK on names", "ALTER TABLE plants ADD CHECK (length(name) < 100)"],
  ["a trigger", raise],
] as const) {
  test(`a probe for free space succeeds on a table with ${what}, and stores no plant`, async () => {
    const database = await server.newDatabase();
    const options = { databasePassword: undefined, allowUnsafeDatabase: false };
    await (await PostgresStore.open(database, options, "upgrade"))[Symbol.asyncDispose]();
    await server.run(sql, database);
    const open = () => openConnection(parseDatabaseUrl(database), false);
    await using connections = new Connections({ open, count: 1, statementMsMax: 3000 });
    const probe = new WriteProbe(connections);
    await probe.run();
    probe.diskFull();
    await probe.run();
    // The transaction was rolled back, so the connection can be used again.
    await probe.run();
    expect(await server.stored(database)).toEqual([]);
  }, 20_000);
}
