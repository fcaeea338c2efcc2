import { setTimeout as sleep } from "node:timers/promises";
import type { Connection } from "./connection.ts";
import { retryWaitMs } from "./connections.ts";
import { DatabaseMisuse, DatabaseProblem } from "./database-url.ts";
import { codeOf, kindOf, reasonOf, sharedSessionReason, tlsAdvice } from "./faults.ts";
import { migrate, schemaVersion, type TableChanges } from "./migrate.ts";
import { type PostgresOptions, Server } from "./server.ts";

export interface Preparation {
  readonly server: Server;
  /** With `upgrade`, the privileges of a node are checked too. */
  readonly changes: TableChanges;
  /** After this long an unreachable server is a failure. A service waits indefinitely. */
  readonly timeoutMs: number;
  readonly onWaiting: (reason: string) => void;
  readonly signal: AbortSignal;
}

const checkMsMax = 5000;
const wrongPassword = "28P01";
// Logins, roles, privileges, databases and settings that someone must fix first; sessions that a pooler shares.
const needsAChange = /^(?:28...|3D000|42(?:501|704|P05)|22023|26000)$/;

const about = {
  text: `SELECT split_part(version(), ' on ', 1), current_user, has_schema_privilege(current_schema(), 'CREATE')`,
};
const setName = { text: "SELECT set_config('plant_store.session', $1, false)" };
const readName = { text: "SELECT current_setting('plant_store.session', true)" };
// FOR SHARE, which reads existing plants, needs UPDATE on plants too.
const missing = {
  text: `SELECT current_user, needed.name, needed.privilege
           FROM (VALUES ('plant_store_schema', 'SELECT'),
                        ('plants', 'SELECT'), ('plants', 'INSERT'), ('plants', 'UPDATE'),
                        ('audit_trail', 'SELECT'), ('audit_trail', 'INSERT'), ('audit_trail', 'DELETE'),
                        ('tokens', 'SELECT'), ('tokens', 'INSERT'), ('tokens', 'UPDATE'),
                        ('plant_store_nodes', 'SELECT'), ('plant_store_nodes', 'INSERT'),
                        ('plant_store_nodes', 'UPDATE'), ('plant_store_nodes', 'DELETE')) AS needed (name, privilege)
          WHERE NOT has_table_privilege(needed.name, needed.privilege)`,
};

/**
 * Prepares the database, and waits for its server while it is unreachable.
 * @throws DatabaseMisuse a setting must change first.
 * @throws DatabaseProblem it failed, or was unreachable for too long.
 */
export async function prepare(preparation: Preparation): Promise<void> {
  const deadlineMs = performance.now() + preparation.timeoutMs;
  for (let tries = 0; ; tries++) {
    try {
      return await prepareOnce(preparation);
    } catch (error) {
      const fatal = problemOf(error, preparation.server);
      if (fatal !== undefined) throw fatal;
      const reason = reasonOf(error);
      if (performance.now() > deadlineMs)
        throw new DatabaseProblem(`The database cannot be used: ${reason}.`);
      preparation.onWaiting(reason);
      await sleep(retryWaitMs(tries), undefined, { signal: preparation.signal });
    }
  }
}

/**
 * Connects as a node does, changes nothing, and describes what it found.
 * @throws DatabaseProblem it cannot be reached, or a node would refuse it.
 */
export async function diagnoseDatabase(url: string, options: PostgresOptions): Promise<string> {
  const server = new Server(url, options);
  let connection: Connection | undefined;
  try {
    connection = await server.open();
    const [row = []] = await connection.run(about, [], checkMsMax);
    const [version, role, mayCreate] = row;
    const hasTables = (await schemaVersion(connection)) > 0;
    if (hasTables) await expectPrivileges(connection);
    else if (mayCreate !== "t")
      throw new DatabaseProblem(`The database role ${role} lacks CREATE on the schema; grant it.`);
    const tables = hasTables ? "has the tables" : "has no tables yet; the first start creates them";
    return `${version} accepts writes and ${tables}; the role ${role} has the privileges`;
  } catch (error) {
    if (error instanceof DatabaseProblem) throw error;
    throw new DatabaseProblem(`The database cannot be used: ${reasonOf(error)}.`);
  } finally {
    connection?.destroy();
  }
}

/** @throws DatabaseMisuse the role of a node lacks a privilege on the tables, which exist. */
async function expectPrivileges(connection: Connection): Promise<void> {
  const rows = await connection.run(missing, [], checkMsMax);
  const lacks = rows.map(([, table, privilege]) => `${privilege} on the table ${table}`);
  if (lacks.length > 0)
    throw new DatabaseMisuse(`The database role ${rows[0]?.[0]} lacks ${lacks.join(", ")}; grant it.`);
}

async function prepareOnce({ server, changes }: Preparation): Promise<void> {
  await using opened = new AsyncDisposableStack();
  const openOne = async (): Promise<Connection> =>
    // A transaction that is still open is rolled back.
    opened.adopt(await server.open(), (connection) => connection.destroy());
  const connection = await openOne();
  if (changes === "upgrade") await expectOwnSessions(connection, await openOne());
  await migrate(connection, changes);
  if (changes === "upgrade") await expectPrivileges(connection);
}

// Each names its session. If a pooler shares one session among both, the first reads the other's name, or none.
async function expectOwnSessions(one: Connection, other: Connection): Promise<void> {
  await one.run(setName, ["one"], checkMsMax);
  await other.run(setName, ["other"], checkMsMax);
  const [row] = await one.run(readName, [], checkMsMax);
  if (row?.[0] !== "one") throw new DatabaseMisuse(`The database cannot be used: ${sharedSessionReason}.`);
}

function problemOf(error: unknown, { passwordMayChange }: Server): DatabaseProblem | undefined {
  if (error instanceof DatabaseProblem) return error;
  const code = codeOf(error);
  if (code === wrongPassword && passwordMayChange) return undefined;
  const sentence = `The database cannot be used: ${reasonOf(error)}.`;
  if (needsAChange.test(code) || isMissingPassword(error) || tlsAdvice(error) !== undefined)
    return new DatabaseMisuse(sentence);
  return ["retry", "reconnect", "unavailable"].includes(kindOf(error))
    ? undefined
    : new DatabaseProblem(sentence);
}

function isMissingPassword(error: unknown): boolean {
  return error instanceof Error && /^SASL: .*client password must be/.test(error.message);
}
