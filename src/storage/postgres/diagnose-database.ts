import { Problem } from "../../system/problem.ts";
import { findRewriting, refuseMissingPrivileges } from "./database-checks.ts";
import { reasonOf } from "./faults.ts";
import { readCheckedVersion } from "./migrations/migrate.ts";
import { type PostgresOptions, Server } from "./server.ts";
import type { Session } from "./session.ts";

const selectRole = {
  text: `SELECT split_part(version(), ' on ', 1), current_user, has_schema_privilege(current_schema(), 'CREATE')`,
};

/** What a node would find in the database. */
export interface DatabaseDiagnosis {
  readonly facts: string;
  /** Triggers and rules, such as `trigger "shout"`, that may change or drop a plant before it is stored. */
  readonly rewriting: readonly string[];
}

/**
 * Connects as a node does, changes nothing, and describes what it found.
 * @throws Problem it cannot be reached, or a node would refuse it.
 */
export async function diagnoseDatabase(url: string, options: PostgresOptions): Promise<DatabaseDiagnosis> {
  const server = new Server(url, options);
  let session: Session | undefined;
  try {
    session = await server.open();
    const [row = []] = await session.run(selectRole);
    const [version, role, mayCreate] = row;
    const hasTables = (await readCheckedVersion(session)) > 0;
    if (hasTables) await refuseMissingPrivileges(session);
    if (!hasTables && mayCreate !== "t")
      throw new Problem(`The database role ${role} lacks CREATE on the schema; grant it.`);
    const tables = hasTables ? "has the tables" : "has no tables yet; the first start creates them";
    return {
      facts: `${version} accepts writes and ${tables}; the role ${role} has the privileges`,
      rewriting: await findRewriting(session),
    };
  } catch (error) {
    if (error instanceof Problem) throw error;
    throw new Problem(`The database cannot be used: ${reasonOf(error)}.`);
  } finally {
    session?.destroy();
  }
}
