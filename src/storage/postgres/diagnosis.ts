import type { Connection } from "./connection.ts";
import { DatabaseProblem, parseDatabaseUrl } from "./database-url.ts";
import { reasonOf } from "./faults.ts";
import { schemaVersion } from "./migrate.ts";
import { type PostgresOptions, passwordOf } from "./postgres-store.ts";
import { expectPrivileges } from "./prepare.ts";
import { Server } from "./server.ts";

const statementMsMax = 5000;
const about = {
  text: `SELECT split_part(version(), ' on ', 1), current_user, has_schema_privilege(current_schema(), 'CREATE')`,
};

/**
 * Connects as a node does, changes nothing, and describes what it found.
 * @throws DatabaseProblem it cannot be reached, or a node would refuse it.
 */
export async function diagnoseDatabase(
  url: string,
  { databasePassword, allowUnsafeDatabase }: PostgresOptions,
): Promise<string> {
  const parsed = parseDatabaseUrl(url);
  const address = { ...parsed, password: parsed.password ?? passwordOf(databasePassword) };
  let connection: Connection | undefined;
  try {
    connection = await new Server(address, allowUnsafeDatabase).open();
    const [row = []] = await connection.run(about, [], statementMsMax);
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
