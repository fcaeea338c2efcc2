import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { openStoreAt } from "./open-engine-store.ts";
import { startPostgres } from "./postgres.ts";

export type CitusCluster = Awaited<ReturnType<typeof startCitus>>;

/**
 * Whether the PostgreSQL that pg_config names has it. Citus 13.2.2 builds on Debian's postgresql-15 and
 * postgresql-server-dev-15: remove have_createdb_privilege from pg_version_compat.h, since 15.20 has its own; then
 * ./configure --with-security-flags=no && make install.
 */
export function citusIsInstalled(): boolean {
  const { stdout } = spawnSync("pg_config", ["--sharedir"], { encoding: "utf8" });
  return existsSync(join((stdout ?? "").trim(), "extension/citus.control"));
}

/** Starts a coordinator and its two workers, in a few seconds. */
export async function startCitus(shards = 8) {
  await using started = new AsyncDisposableStack();
  // Citus is built for the PostgreSQL that pg_config belongs to.
  const { stdout } = spawnSync("pg_config", ["--bindir"], { encoding: "utf8" });
  const installation = dirname(stdout.trim());
  const settings = {
    shared_preload_libraries: "citus",
    max_prepared_transactions: "100",
    wal_level: "logical",
    max_connections: "200",
    // Citus runs one in each database.
    max_worker_processes: "100",
    "citus.node_conninfo": "sslmode=disable",
    // A worker that was lost leaves prepared transactions; the default is a minute.
    "citus.recover_2pc_interval": "2s",
  };
  const start = async () => started.use(await startPostgres({ installation, settings }));
  const coordinator = await start();
  const workers = [await start(), await start()] as const;
  const owned = started.move();
  /** With our tables, distributed as docs/scaling.md says. */
  const newDatabase = async (): Promise<string> => {
    const database = await coordinator.newDatabase();
    const run = (sql: string) => coordinator.run(sql, database);
    for (const worker of workers) await worker.run("CREATE EXTENSION citus", await worker.newDatabase());
    // One by one: a script would be a single transaction.
    await run("CREATE EXTENSION citus");
    await run(`SELECT citus_set_coordinator_host('127.0.0.1', ${coordinator.port})`);
    for (const { port } of workers) await run(`SELECT citus_add_node('127.0.0.1', ${port})`);
    const store = await openStoreAt(database);
    await store[Symbol.asyncDispose]();
    await run("ALTER ROLE postgres SET lock_timeout = '100ms'");
    await run(`SET citus.shard_count = ${shards}; SELECT create_distributed_table('plants', 'id')`);
    return database;
  };
  const { run, stored } = coordinator;
  return { workers, run, stored, newDatabase, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}
