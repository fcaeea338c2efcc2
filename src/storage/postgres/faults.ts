/** The connection is gone or unusable. */
export class ConnectionLost extends Error {
  override readonly name = "ConnectionLost";
}

/** The server said "committed" and in the same breath that it was not all a commit should be. */
export class DoubtfulCommit extends Error {
  override readonly name = "DoubtfulCommit";
}

// Codes of PostgreSQL: a transaction that lost a race; a server that is stopping, starting, full of connections, or
// no longer the primary.
const raceLost = /^40(?:001|P01)$/;
const serverAway = /^(?:08...|57P0.|25006|53300)$/;
const networkFault =
  /^(?:ECONN\w+|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|EHOSTDOWN|ENOTFOUND|EAI_AGAIN|ENOENT)$/;

/** Whether another try may succeed. It is always safe: the id is the key, so what was stored is found. */
export function mayRetry(error: unknown): boolean {
  return raceLost.test(codeOf(error)) || endsConnection(error);
}

/** Whether the connection that this came over is of no more use. */
export function endsConnection(error: unknown): boolean {
  const code = codeOf(error);
  return (
    error instanceof ConnectionLost ||
    serverAway.test(code) ||
    networkFault.test(code) ||
    // pg gives no code for a connection that ends under a statement.
    (code === "" &&
      error instanceof Error &&
      /^Connection terminated|timeout expired|not queryable/.test(error.message))
  );
}

export function codeOf(error: unknown): string {
  const code = (error as { code?: unknown } | undefined)?.code;
  return typeof code === "string" ? code : "";
}

/** In one line, without anything that could be a secret: the server's own words or the network's. */
export function reasonOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  const code = codeOf(error);
  return code === "" || message.includes(code) ? message : `${message} (${code})`;
}
