import { Connection } from "./connection.ts";
import { type DatabaseAddress, DatabaseMisuse, type Host } from "./database-url.ts";
import { ConnectionLost, mayRetry } from "./faults.ts";

/** A statement that waits longer than this for a lock fails with 55P03. Below the probe's own deadline. */
const lockMsMax = 1000;

// The session pins the synchronous_commit that was checked, whatever the server's becomes later. Its warnings report a
// commit that was not replicated, so the role must not turn them off.
const session = {
  text: `SELECT current_setting('transaction_read_only'),
                set_config('synchronous_commit', current_setting('synchronous_commit'), false),
                current_setting('fsync', true),
                current_setting('server_encoding'),
                set_config('client_min_messages', 'warning', false),
                set_config('lock_timeout', '${lockMsMax}', false),
                current_setting('citus.shard_count', true)`,
};

// So that SET LOCAL reaches the workers too; see insert-plants.ts.
const passSettingsOn = { text: "SELECT set_config('citus.propagate_set_commands', 'local', false)" };

const readOnlyCause = {
  text: `SELECT pg_is_in_recovery(),
                (SELECT source FROM pg_settings WHERE name = 'default_transaction_read_only')`,
};

/**
 * Opens a connection to the host that accepts writes. All are tried in parallel, so that one that hangs costs no time.
 * @throws DatabaseMisuse the server is not durable, and --allow-unsafe-database is not set; or it cannot store every text.
 */
export async function openConnection(address: DatabaseAddress, allowUnsafe: boolean): Promise<Connection> {
  const attempts = address.hosts.map((host) => openHost(address, host, allowUnsafe));
  try {
    const first = await Promise.any(attempts);
    for (const attempt of attempts)
      void attempt.then((one) => one === first || one.destroy()).catch(() => {});
    return first;
  } catch (error) {
    const errors: readonly unknown[] = (error as AggregateError).errors;
    // What a retry cannot fix comes first: a wrong password on one host says more than a timeout on another.
    throw errors.find((one) => !mayRetry(one)) ?? errors[0];
  }
}

async function openHost(address: DatabaseAddress, host: Host, allowUnsafe: boolean): Promise<Connection> {
  const connection = await Connection.open(address, host);
  try {
    const [row = []] = await connection.run(session, [], address.connectMsMax);
    const [readOnly, synchronousCommit, fsync, encoding, , , shardCount] = row;
    if (readOnly === "on") throw await readOnlyProblem(connection, address, host);
    if (encoding !== "UTF8")
      throw new DatabaseMisuse(
        `The database has the encoding ${encoding}, which cannot store every text; create one with ENCODING 'UTF8'.`,
      );
    const unsafe = synchronousCommit === "off" ? "synchronous_commit" : fsync === "off" ? "fsync" : undefined;
    if (unsafe !== undefined && !allowUnsafe) {
      throw new DatabaseMisuse(
        `The database has ${unsafe}=off, so it would acknowledge plants that a crash can lose; turn it on, or allow it with --allow-unsafe-database yes.`,
      );
    }
    connection.isCitus = shardCount !== null && shardCount !== undefined;
    if (connection.isCitus) await connection.run(passSettingsOn, [], address.connectMsMax);
    return connection;
  } catch (error) {
    connection.destroy();
    throw error;
  }
}

// Only what the URL itself sets is permanent. A provider can make a database read-only while its disk is full.
async function readOnlyProblem(
  connection: Connection,
  { connectMsMax }: DatabaseAddress,
  { host, port }: Host,
): Promise<Error> {
  const [row = []] = await connection.run(readOnlyCause, [], connectMsMax);
  const [isStandby, source] = row;
  if (isStandby === "t") return new ConnectionLost(`${host}:${port} accepts no writes: it is a standby`);
  return source === "client"
    ? new DatabaseMisuse(
        "The database URL's options set default_transaction_read_only=on, so no plant can be stored; remove it.",
      )
    : new ConnectionLost(`${host}:${port} accepts no writes: default_transaction_read_only is on`);
}
