import { setTimeout as sleep } from "node:timers/promises";
import { retryWaitMs } from "./connection-pool.ts";
import { DatabaseMisuse, DatabaseProblem } from "./database-url.ts";
import { ConnectionLost, codeOf, kindOf, reasonOf, tlsAdvice } from "./faults.ts";
import tables from "./migrations/006-tables.sql" with { type: "text" };
import { type PostgresOptions, Server } from "./server.ts";
import type { Session } from "./session.ts";

export interface Preparation {
  readonly server: Server;
  /** With `upgrade`, the privileges of a node are checked too. */
  readonly changes: TableChanges;
  /** After this long an unreachable server is a failure. A service waits indefinitely. */
  readonly timeoutMs: number;
  readonly onWaiting: (reason: string) => void;
  readonly signal: AbortSignal;
}

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
  text: `SELECT current_user, name, privilege
           FROM (VALUES ('plant_store_schema', '{SELECT}'), ('plants', '{SELECT,INSERT,UPDATE}'),
                        ('tokens', '{SELECT,INSERT,UPDATE}'), ('audit_trail', '{SELECT,INSERT,DELETE}'),
                        ('plant_store_nodes', '{SELECT,INSERT,UPDATE,DELETE}')) AS needed (name, privileges),
                unnest(privileges::text[]) AS privilege
          WHERE NOT has_table_privilege(name, privilege)`,
};

// Triggers that see a plant before it is stored, and may change or drop it: tgtype has the bits ROW, BEFORE and INSERT. And rules, which
// may do something else instead. Those that are disabled, or run only on a replica, do not matter.
const rewriting = {
  text: `SELECT 'trigger', tgname FROM pg_trigger
          WHERE tgrelid = to_regclass('plants') AND NOT tgisinternal AND (tgtype & 7) = 7 AND tgenabled IN ('O', 'A')
         UNION ALL
         SELECT 'rule', rulename FROM pg_rewrite
          WHERE ev_class = to_regclass('plants') AND ev_enabled IN ('O', 'A')
         ORDER BY 1, 2`,
};

/**
 * Prepares the database, and waits for its server while it is unreachable. With `upgrade`, returns the triggers and rules that may
 * change or drop a plant before it is stored, such as `trigger "shout"`.
 * @throws DatabaseMisuse a setting must change first.
 * @throws DatabaseProblem it failed, or was unreachable for too long.
 */
export async function prepare(preparation: Preparation): Promise<readonly string[]> {
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

/** What a node would find. */
export interface DatabaseDiagnosis {
  readonly facts: string;
  /** As `prepare` returns them. */
  readonly rewriting: readonly string[];
}

/**
 * Connects as a node does, changes nothing, and describes what it found.
 * @throws DatabaseProblem it cannot be reached, or a node would refuse it.
 */
export async function diagnoseDatabase(url: string, options: PostgresOptions): Promise<DatabaseDiagnosis> {
  const server = new Server(url, options);
  let session: Session | undefined;
  try {
    session = await server.open();
    const [row = []] = await session.run(about);
    const [version, role, mayCreate] = row;
    const hasTables = (await schemaVersion(session)) > 0;
    if (hasTables) await expectPrivileges(session);
    else if (mayCreate !== "t")
      throw new DatabaseProblem(`The database role ${role} lacks CREATE on the schema; grant it.`);
    const tables = hasTables ? "has the tables" : "has no tables yet; the first start creates them";
    return {
      facts: `${version} accepts writes and ${tables}; the role ${role} has the privileges`,
      rewriting: await readRewriting(session),
    };
  } catch (error) {
    if (error instanceof DatabaseProblem) throw error;
    throw new DatabaseProblem(`The database cannot be used: ${reasonOf(error)}.`);
  } finally {
    session?.destroy();
  }
}

/** @throws DatabaseMisuse the role of a node lacks a privilege on the tables, which exist. */
async function expectPrivileges(session: Session): Promise<void> {
  const rows = await session.run(missing);
  const lacks = rows.map(([, table, privilege]) => `${privilege} on the table ${table}`);
  if (lacks.length > 0)
    throw new DatabaseMisuse(`The database role ${rows[0]?.[0]} lacks ${lacks.join(", ")}; grant it.`);
}

async function readRewriting(session: Session): Promise<readonly string[]> {
  const rows = await session.run(rewriting);
  return rows.map(([kind, name]) => `${kind} ${JSON.stringify(name)}`);
}

async function prepareOnce({ server, changes }: Preparation): Promise<readonly string[]> {
  await using opened = new AsyncDisposableStack();
  const openOne = async (): Promise<Session> =>
    // A transaction that is still open is rolled back.
    opened.adopt(await server.open(), (session) => session.destroy());
  const session = await openOne();
  if (changes === "upgrade") await expectOwnSessions(session, await openOne());
  await migrate(session, changes);
  if (changes !== "upgrade") return [];
  await expectPrivileges(session);
  // Awaited here, since the connection is closed on return.
  return await readRewriting(session);
}

// A session that loses its settings and prepared statements can guarantee nothing. Each names its session. If a pooler shares
// one session among both, the first reads the other's name, or none.
async function expectOwnSessions(one: Session, other: Session): Promise<void> {
  await one.run(setName, ["one"]);
  await other.run(setName, ["other"]);
  const [row] = await one.run(readName);
  if (row?.[0] !== "one")
    throw new DatabaseMisuse(
      "The database cannot be used: a pooler shares sessions between clients. Give each connection its own session (PgBouncer: pool_mode = session).",
    );
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

/** What may be done to the tables: create missing ones and upgrade older ones, only create them, or neither. */
export type TableChanges = "upgrade" | "create" | "none";

interface Migration {
  readonly number: number;
  readonly sql: string;
  /** Columns that our tables have after it, by which a database is recognised. */
  readonly columns: Readonly<Record<string, string>>;
}

/**
 * In order; the table plant_store_schema has the number of the last one. The numbers 1 to 5 were used before 1.0.0, and are not
 * used again: a database with one of them is recognised.
 */
export const migrations: readonly Migration[] = [
  {
    number: 6,
    sql: tables,
    columns: {
      plants: "id bigint, name text, tag text, created_at_ms bigint, created_by text",
      tokens: `digest text, id text, name text, scopes text, created_at_ms bigint, expires_at_ms bigint,
               revoked_at_ms bigint, created_by text, last_used_at_ms bigint`,
      plant_store_nodes: "node text, seen_at_ms bigint",
      audit_trail: "id text, at_ms bigint, actor text, action text, subject text, address text, detail text",
    },
  },
];

const lockNotAvailable = /^55P03$/;
// Even with IF NOT EXISTS, PostgreSQL fails one of two sessions that create a table concurrently, with one of these.
const createdMeanwhile = /^(?:23505|42(?:710|P07)|XX000)$/;
const noSuchTable = "42P01";

const version = { text: "SELECT version FROM plant_store_schema" };
// NOWAIT: the caller does the waiting, so that it is logged, and ends when the service stops.
const lock = { text: "SELECT version FROM plant_store_schema FOR UPDATE NOWAIT" };
const columnsOf = {
  text: `SELECT name || '.' || attname || ' ' || format_type(atttypid, NULL)
           FROM unnest($1::text[]) AS name JOIN pg_attribute ON attrelid = to_regclass(name)
          WHERE attnum > 0 AND NOT attisdropped`,
};
const firstTable = `CREATE TABLE IF NOT EXISTS plant_store_schema (one INT PRIMARY KEY CHECK (one = 1), version INT NOT NULL);
  INSERT INTO plant_store_schema (one, version) VALUES (1, 0) ON CONFLICT (one) DO NOTHING`;
const withoutTimeouts = "SET statement_timeout = 0; SET lock_timeout = 0";

/**
 * Checks the schema, and migrates it as far as `changes` allows. Of nodes that start together, the one that locks the row of
 * plant_store_schema migrates, and the others retry until it is done.
 * @throws DatabaseProblem the tables are not those of this version, and may not or cannot become so.
 */
export async function migrate(session: Session, changes: TableChanges, known = migrations): Promise<void> {
  const newest = known.at(-1)?.number ?? 0;
  // Without a lock first: a node may have no privilege to change the schema.
  const found = await schemaVersion(session, known);
  if (found === newest) return;
  refuseUnmigrated(found, changes);
  await session.script(withoutTimeouts);
  await session.script(firstTable).catch(retryAfter(createdMeanwhile));
  for (;;) {
    await session.script("BEGIN");
    const have = await readVersion(session, lock).catch(retryAfter(lockNotAvailable));
    const next = known.find(({ number }) => number > have);
    if (next === undefined) break;
    await session.script(next.sql);
    await session.script(`UPDATE plant_store_schema SET version = ${next.number}; COMMIT`);
  }
  await session.script("COMMIT");
}

/**
 * The number of the schema; 0 if there are no tables yet.
 * @throws DatabaseProblem the tables are from a newer version, or from before 1.0.0.
 */
export async function schemaVersion(session: Session, known = migrations): Promise<number> {
  const found = await readVersion(session, version).catch(unlessMissing);
  await refuseUnknown(session, found, known);
  return found;
}

async function readVersion(session: Session, statement: { text: string }): Promise<number> {
  return Number((await session.run(statement))[0]?.[0] ?? 0);
}

/** Further columns are ignored: CockroachDB adds one for a hash-sharded key. */
async function refuseUnknown(session: Session, found: number, known: readonly Migration[]): Promise<void> {
  if (found === 0) return;
  if (found > (known.at(-1)?.number ?? 0))
    throw new DatabaseProblem(
      "The database was set up by a newer plant-store; use that version or a newer one.",
    );
  const expected = known.find(({ number }) => number === found)?.columns;
  if (expected === undefined) throw earlyProblem();
  const rows = await session.run(columnsOf, [Object.keys(expected)]);
  const actual = new Set(rows.map(([column]) => column));
  for (const [table, columns] of Object.entries(expected))
    if (!columns.split(/,\s+/).every((column) => actual.has(`${table}.${column}`))) throw earlyProblem();
}

function earlyProblem(): DatabaseProblem {
  return new DatabaseProblem(
    "The database was set up before plant-store 1.0.0: export its plants with the version that wrote it, and import them into a new database.",
  );
}

function refuseUnmigrated(found: number, changes: TableChanges): void {
  if (found === 0 && changes === "none")
    throw new DatabaseProblem("The database has no plant-store tables yet: start the service on it once.");
  if (found > 0 && changes !== "upgrade")
    throw new DatabaseProblem(
      "The database was set up by an older plant-store: start the service on it once to upgrade its tables.",
    );
}

/** These failures mean that another process is at work on the tables, so `prepare` waits for it. */
function retryAfter(codes: RegExp): (error: unknown) => never {
  return (error) => {
    if (!codes.test(codeOf(error))) throw error;
    throw new ConnectionLost(`another process is creating or upgrading the tables: ${reasonOf(error)}`);
  };
}

function unlessMissing(error: unknown): number {
  if (codeOf(error) === noSuchTable) return 0;
  throw error;
}
