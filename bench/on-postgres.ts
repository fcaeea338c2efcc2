import { type PostgresServer, startPostgres } from "../test/support/postgres.ts";
import { startOurs } from "./servers.ts";

/** A local PostgreSQL, durable, with room for every connection of the benchmarks. */
export function startBenchPostgres(): Promise<PostgresServer> {
  return startPostgres({ settings: { max_connections: "600", shared_buffers: "256MB" } });
}

/** A database with our tables in it, for those who do not create them. */
export async function databaseOfPlants(postgres: PostgresServer): Promise<string> {
  const database = await postgres.newDatabase();
  await using _ = await startOurs({ database });
  return database;
}
