import { join } from "node:path";
import { openStore } from "../src/storage/open-store.ts";
import { type PostgresServer, startPostgres } from "../test/postgres.ts";
import { type Server, start, token } from "./servers.ts";

/** A local PostgreSQL, durable, with room for every connection of the benchmarks. */
export function startBenchPostgres(): Promise<PostgresServer> {
  return startPostgres({ settings: { max_connections: "200", shared_buffers: "256MB" } });
}

/** A database with our tables in it, which the others write to as well. */
export async function databaseOfPlants(postgres: PostgresServer): Promise<string> {
  const database = await postgres.newDatabase();
  await using _ = await openStore({ database, databasePassword: undefined, allowUnsafeDatabase: false });
  return database;
}

/** The usual code, without group commit: one INSERT per plant. */
export function startFastifyOnPostgres(database: string): Promise<Server> {
  return peer("Fastify + pg", "node", "fastify-postgres.js", database);
}

/** The same on our runtime. */
export function startBunOnPostgres(database: string): Promise<Server> {
  return peer("Bun.serve + pg", process.execPath, "bun-postgres.js", database);
}

function peer(name: string, runtime: string, file: string, database: string): Promise<Server> {
  return start(name, {
    command: (port) => [runtime, join(import.meta.dir, "peers", file), String(port), token, database],
    environment: { NODE_ENV: "production" },
  });
}
