import type { Connection } from "./connection.ts";
import { DatabaseProblem, parseDatabaseUrl } from "./database-url.ts";
import { reasonOf } from "./faults.ts";
import { openConnection } from "./open-connection.ts";
import { type PostgresOptions, passwordOf } from "./postgres-store.ts";
import { missingPrivileges } from "./prepare.ts";

/** What a server says about its durability. A setting is undefined on an engine that does not have it. */
export interface DatabaseDiagnosis {
  readonly version: string;
  readonly encoding: string;
  readonly fsync: string | undefined;
  readonly synchronousCommit: string | undefined;
  readonly fullPageWrites: string | undefined;
  /** `synchronous_standby_names`; empty if commits wait for no other server. */
  readonly standbyNames: string;
  /** Standbys that a commit waits for; undefined if the role may not see them. */
  readonly synchronousStandbys: number | undefined;
  /** Its clock minus ours, at the midpoint of the round trip. */
  readonly clockAheadMs: number;
  readonly hasTables: boolean;
  readonly role: string;
  /** Such as `INSERT on the table plants`. */
  readonly missingPrivileges: readonly string[];
  readonly lastPlantMs: number | undefined;
}

const statementMsMax = 5000;

const settings = {
  text: `SELECT split_part(version(), ' on ', 1), current_setting('server_encoding'),
                current_setting('fsync', true), current_setting('synchronous_commit', true),
                current_setting('full_page_writes', true), current_setting('synchronous_standby_names', true),
                current_user, to_regclass('plants') IS NOT NULL AND to_regclass('audit_trail') IS NOT NULL,
                has_schema_privilege(current_schema(), 'CREATE')`,
};
const clock = { text: "SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::text" };
// Without the role pg_monitor the rows are visible, and their columns are null.
const standbys = {
  text: `SELECT count(*) FILTER (WHERE sync_state IN ('sync', 'quorum')), count(*) - count(sync_state)
           FROM pg_stat_replication`,
};
const lastPlant = { text: "SELECT max(created_at_ms)::text FROM plants" };

/** @throws DatabaseProblem it cannot be reached or used. */
export async function diagnoseDatabase(
  url: string,
  { databasePassword }: PostgresOptions,
): Promise<DatabaseDiagnosis> {
  const parsed = parseDatabaseUrl(url);
  const address = { ...parsed, password: parsed.password ?? passwordOf(databasePassword) };
  let connection: Connection | undefined;
  try {
    connection = await openConnection(address, true);
    return await diagnose(connection);
  } catch (error) {
    if (error instanceof DatabaseProblem) throw error;
    throw new DatabaseProblem(`The database cannot be used: ${reasonOf(error)}.`);
  } finally {
    await connection?.close(statementMsMax);
  }
}

async function diagnose(connection: Connection): Promise<DatabaseDiagnosis> {
  const run = async (statement: { text: string }) =>
    (await connection.run(statement, [], statementMsMax))[0] ?? [];
  const [version, encoding, fsync, synchronousCommit, fullPageWrites, standbyNames, role, tables, create] =
    await run(settings);
  const hasTables = tables === "t";
  const sentMs = Date.now();
  const [serverMs] = await run(clock);
  const clockAheadMs = Number(serverMs) - (sentMs + Date.now()) / 2;
  const { lacks } = hasTables
    ? await missingPrivileges(connection)
    : { lacks: create === "t" ? [] : ["CREATE on the schema"] };
  return {
    version: version ?? "",
    encoding: encoding ?? "",
    fsync: fsync ?? undefined,
    synchronousCommit: synchronousCommit ?? undefined,
    fullPageWrites: fullPageWrites ?? undefined,
    standbyNames: standbyNames ?? "",
    synchronousStandbys: await countStandbys(run),
    clockAheadMs,
    hasTables,
    role: role ?? "",
    missingPrivileges: lacks,
    lastPlantMs: hasTables ? await lastPlantTime(run) : undefined,
  };
}

type Run = (statement: { text: string }) => Promise<readonly (string | null)[]>;

async function countStandbys(run: Run): Promise<number | undefined> {
  try {
    const [synchronous, hidden] = await run(standbys);
    return hidden === "0" ? Number(synchronous) : undefined;
  } catch {
    // Engines that replicate by themselves have no such view.
    return undefined;
  }
}

async function lastPlantTime(run: Run): Promise<number | undefined> {
  try {
    const [text] = await run(lastPlant);
    return text == null ? undefined : Number(text);
  } catch {
    // Without the privilege, which is reported by itself.
    return undefined;
  }
}
