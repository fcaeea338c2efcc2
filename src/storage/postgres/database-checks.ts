// What is refused or reported before a database is used: shared sessions, missing privileges, triggers and rules.
import { misuse } from "../../system/problem.ts";
import type { Session } from "./session.ts";

const setName = { text: "SELECT set_config('plant_store.session', $1, false)" };
const readName = { text: "SELECT current_setting('plant_store.session', true)" };
// FOR SHARE, which reads existing plants, needs UPDATE on plants too.
const selectMissingPrivileges = {
  text: `SELECT current_user, name, privilege
           FROM (VALUES ('plant_store_schema', '{SELECT}'), ('plants', '{SELECT,INSERT,UPDATE}'),
                        ('tokens', '{SELECT,INSERT,UPDATE}'), ('audit_trail', '{SELECT,INSERT,DELETE}'),
                        ('plant_store_nodes', '{SELECT,INSERT,UPDATE,DELETE}')) AS needed (name, privileges),
                unnest(privileges::text[]) AS privilege
          WHERE NOT has_table_privilege(name, privilege)`,
};

// A trigger that sees a plant before it is stored may change or drop it: tgtype has the bits ROW, BEFORE and INSERT. A rule may
// do something else instead. Those that are disabled, or run only on a replica, do not matter.
const selectRewriting = {
  text: `SELECT 'trigger', tgname FROM pg_trigger
          WHERE tgrelid = to_regclass('plants') AND NOT tgisinternal AND (tgtype & 7) = 7 AND tgenabled IN ('O', 'A')
         UNION ALL
         SELECT 'rule', rulename FROM pg_rewrite
          WHERE ev_class = to_regclass('plants') AND ev_enabled IN ('O', 'A')
         ORDER BY 1, 2`,
};

/**
 * Refuses a pooler that shares sessions: one that loses its settings and prepared statements can guarantee nothing. Each of the
 * two gets a name. If both are one session of the server, the first reads the name of the second, or none.
 * @throws Problem
 */
export async function refuseSharedSession(first: Session, second: Session): Promise<void> {
  await first.run(setName, ["first"]);
  await second.run(setName, ["second"]);
  const [row] = await first.run(readName);
  if (row?.[0] !== "first")
    throw misuse(
      "The database cannot be used: a pooler shares sessions between clients. Give each connection its own session (PgBouncer: pool_mode = session).",
    );
}

/** @throws Problem the role of a node lacks a privilege on the tables, which exist. */
export async function refuseMissingPrivileges(session: Session): Promise<void> {
  const rows = await session.run(selectMissingPrivileges);
  const [first] = rows;
  if (first === undefined) return;
  const [role] = first;
  const missing = rows.map(([, table, privilege]) => `${privilege} on the table ${table}`);
  throw misuse(`The database role ${role} lacks ${missing.join(", ")}; grant it.`);
}

/** The triggers and rules that may change or drop a plant before it is stored, such as `trigger "shout"`. */
export async function findRewriting(session: Session): Promise<readonly string[]> {
  const rows = await session.run(selectRewriting);
  return rows.map(([kind, name]) => `${kind} ${JSON.stringify(name)}`);
}
