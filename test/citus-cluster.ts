import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { openStore } from "../src/storage/open-store.ts";
import { type Databases, type PostgresServer, startPostgres } from "./postgres.ts";

/** A coordinator and its two workers, on this machine. */
export interface CitusCluster extends Databases, AsyncDisposable {
  readonly workers: readonly PostgresServer[];
}

/**
 * Whether the PostgreSQL that pg_config names has it. Citus 13.2.2 builds on Debian's postgresql-15 and postgresql-server-dev-15: remove
 * have_createdb_privilege from pg_version_compat.h, since 15.20 has its own; then ./configure --with-security-flags=no && make install.
 */
export function citusIsInstalled(): boolean {
  const { stdout } = spawnSync("pg_config", ["--sharedir"], { encoding: "utf8" });
  return existsSync(join((stdout ?? "").trim(), "extension/citus.control"));
}

/** Starts the three servers, in a few seconds. */
export async function startCitus(shards = 8): Promise<CitusCluster> {
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
  const [coordinator, ...workers] = [await start(), await start(), await start()];
  const owned = started.move();
  return {
    workers,
    run: coordinator.run,
    stored: coordinator.stored,
    newDatabase: () => distributedDatabase(coordinator, workers, shards),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** Creates a database with our tables, distributed as docs/scaling.md says, and returns its URL. */
async function distributedDatabase(
  coordinator: PostgresServer,
  workers: readonly PostgresServer[],
  shards: number,
): Promise<string> {
  const database = await coordinator.newDatabase();
  for (const worker of workers) {
    const onWorker = await worker.newDatabase();
    await worker.run("CREATE EXTENSION citus", onWorker);
  }
  const host = "'127.0.0.1'";
  const added = workers.map(({ port }) => `SELECT citus_add_node(${host}, ${port})`);
  const nodes = ["CREATE EXTENSION citus", `SELECT citus_set_coordinator_host(${host}, ${coordinator.port})`];
  // One by one: a script would be a single transaction.
  for (const sql of [...nodes, ...added]) await coordinator.run(sql, database);
  await (await openStore({ database, databasePassword: undefined, allowUnsafeDatabase: false }))[
    Symbol.asyncDispose
  ]();
  await coordinator.run("ALTER ROLE postgres SET lock_timeout = '100ms'", database);
  await coordinator.run(
    `SET citus.shard_count = ${shards}; SELECT create_distributed_table('plants', 'id')`,
    database,
  );
  return database;
}
