import { Connection } from "./connection.ts";
import { type DatabaseAddress, DatabaseProblem, type Host } from "./database-url.ts";
import { ConnectionLost, mayRetry } from "./faults.ts";

// A server that takes longer than this to let someone in is as good as away.
const connectMsMax = 2000;

const session = {
  // The session keeps the setting that was looked at, whatever the server's own becomes meanwhile.
  text: `SELECT current_setting('transaction_read_only'),
                set_config('synchronous_commit', current_setting('synchronous_commit'), false),
                current_setting('fsync', true)`,
};

/**
 * Opens a connection to the host that takes writes. All are asked at once, so that one that hangs costs no time.
 * @throws DatabaseProblem the server would acknowledge what it can still lose, and nobody has allowed that.
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
    // What another try cannot mend is told first: a wrong password on one host says more than silence on the other.
    throw errors.find((one) => !mayRetry(one)) ?? errors[0];
  }
}

async function openHost(address: DatabaseAddress, host: Host, allowUnsafe: boolean): Promise<Connection> {
  const connection = await openWithTls(address, host);
  try {
    const [row = []] = await connection.run(session, [], connectMsMax);
    const [readOnly, synchronousCommit, fsync] = row;
    if (readOnly === "on")
      throw new ConnectionLost(`${host.host}:${host.port} takes no writes: it is a standby`);
    const unsafe = synchronousCommit === "off" ? "synchronous_commit" : fsync === "off" ? "fsync" : undefined;
    if (unsafe !== undefined && !allowUnsafe) {
      throw new DatabaseProblem(
        `The database has ${unsafe}=off, so it would acknowledge plants that a crash can still take; turn it on, or insist with --allow-unsafe-database yes.`,
      );
    }
    return connection;
  } catch (error) {
    connection.destroy();
    throw error;
  }
}

async function openWithTls(address: DatabaseAddress, host: Host): Promise<Connection> {
  const { use } = address.tls;
  // A socket in a folder never leaves the machine, and PostgreSQL offers no TLS on it.
  const tls = use !== "never" && !host.host.startsWith("/");
  try {
    return await Connection.open(address, host, connectMsMax, tls);
  } catch (error) {
    const refused = error instanceof Error && error.message.includes("does not support SSL");
    if (!(tls && use === "prefer" && refused)) throw error;
    return Connection.open(address, host, connectMsMax, false);
  }
}
