import { StoreUnavailable } from "../../plants/plant-store.ts";

/** The connection is gone or unusable. */
export class ConnectionLost extends Error {
  override readonly name = "ConnectionLost";
}

/** The server said "committed" and in the same breath that it was not all a commit should be. */
export class DoubtfulCommit extends Error {
  override readonly name = "DoubtfulCommit";
}

/** Another session has locked a row of the batch, though not the whole table. */
export class RowLocked extends Error {
  override readonly name = "RowLocked";
}

/**
 * What a failure means: `retry`, the transaction lost a race or waited too long for a lock; `away`, the session is of no
 * more use, and another one may do; `unavailable`, the store refuses everyone for now; `plant`, the values of one row are
 * refused; `internal`, anything else.
 */
export type FaultKind = "retry" | "away" | "unavailable" | "plant" | "internal";

// SQLSTATE, from PostgreSQL's appendix A. The first line that matches counts.
const kindsBySqlState: readonly (readonly [RegExp, FaultKind])[] = [
  [/^(?:40(?:001|P01)|55P03)$/, "retry"],
  // Connection failures, a server that stops or starts, a standby, too many connections; sessions that a pooler shares.
  [/^(?:08...|57P0.|25006|53300|42P05|26000)$/, "away"],
  // Out of disk or memory, a cancelled statement, no login, no right, no table, an I/O error.
  [/^(?:53...|57(?:014)|28...|3D000|42(?:501|P01)|58...)$/, "unavailable"],
  // Data exceptions, constraints and triggers of the operator's own, limits of the engine.
  [/^(?:22...|23...|44000|54...|P0...)$/, "plant"],
];
const sharedSession = /^(?:42P05|26000)$/;
const networkFault =
  /^(?:ECONN\w+|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|EHOSTDOWN|ENOTFOUND|EAI_AGAIN|ENOENT)$/;

export function kindOf(error: unknown): FaultKind {
  if (error instanceof ConnectionLost) return "away";
  if (error instanceof DoubtfulCommit || error instanceof StoreUnavailable) return "unavailable";
  const code = codeOf(error);
  if (isFromServer(error)) return kindsBySqlState.find(([codes]) => codes.test(code))?.[1] ?? "internal";
  // pg gives no code for a connection that ends under a statement.
  const ended =
    code === "" &&
    error instanceof Error &&
    /^Connection terminated|timeout expired|not queryable/.test(error.message);
  return ended || networkFault.test(code) ? "away" : "internal";
}

/** Whether another try may succeed. It is always safe: the id is the key, so what was stored is found. */
export function mayRetry(error: unknown): boolean {
  return ["retry", "away"].includes(kindOf(error));
}

/** Whether a smaller part of the same statement may succeed: some row, or all of them, met an error of its own. */
export function maySplit(error: unknown): boolean {
  return isFromServer(error) && ["plant", "internal"].includes(kindOf(error));
}

/** What a read throws: StoreUnavailable where a later one may succeed, and otherwise the internal error itself. */
export function readFailure(error: unknown): unknown {
  return kindOf(error) === "internal" || error instanceof StoreUnavailable
    ? error
    : new StoreUnavailable(reasonOf(error), { cause: error });
}

/** A session that keeps neither its settings nor its statements can promise nothing. */
export function isSharedSession(error: unknown): boolean {
  return sharedSession.test(codeOf(error));
}

export const sharedSessionReason =
  "a pooler shares the database's sessions among its clients; it must give each connection a session of its own (PgBouncer: pool_mode = session)";

/** Whether a statement waited for a lock until lock_timeout. */
export function isLockTimeout(error: unknown): boolean {
  return codeOf(error) === "55P03";
}

export function codeOf(error: unknown): string {
  const code = (error as { code?: unknown } | undefined)?.code;
  return typeof code === "string" ? code : "";
}

/** In one line, without anything that could be a secret: the server's own words or the network's. */
export function reasonOf(error: unknown): string {
  const code = codeOf(error);
  if (isSharedSession(error)) return `${sharedSessionReason} (${code})`;
  const message = error instanceof Error ? error.message : String(error);
  return code === "" || message.includes(code) ? message : `${message} (${code})`;
}

// Errors of the network have codes too; only the server's have a severity.
function isFromServer(error: unknown): boolean {
  return error instanceof Error && "severity" in error && codeOf(error).length === 5;
}
