// What an error of the server or of the network means for a plant, and what it is called.
import { StoreUnavailable } from "../../plants/plant-store.ts";
import { codeOf, messageOf } from "../../system/errors.ts";

/** No session can be used now; a later one may. */
export class ServerUnavailable extends Error {
  override readonly name = "ServerUnavailable";
}

/** A statement was not answered in time; its session was dropped. */
export class StatementTimeout extends ServerUnavailable {}

/**
 * What a failure means: `retry`, the transaction lost a race or waited too long for a lock; `reconnect`, the session is unusable
 * and another may work; `unavailable`, the store refuses every session for now; `plant`, the values of one row are
 * refused; `internal`, anything else.
 */
export type FaultKind = "retry" | "reconnect" | "unavailable" | "plant" | "internal";

// SQLSTATE, from PostgreSQL's appendix A. The first match wins.
const kindsBySqlState: readonly (readonly [RegExp, FaultKind])[] = [
  [/^(?:40(?:001|P01)|55P03)$/, "retry"],
  // Connection failures, a server that stops or starts, a standby, too many connections; sessions that a pooler shares.
  [/^(?:08...|57P0.|25006|53300|42P05|26000)$/, "reconnect"],
  // Out of disk or memory, a cancelled statement, no login, no privilege, no table, an I/O error.
  [/^(?:53...|57014|28...|3D000|42501|42P01|58...)$/, "unavailable"],
  // Data exceptions, constraints and triggers of the operator's own, limits of the engine.
  [/^(?:22...|23...|44000|54...|P0...)$/, "plant"],
];
// Citus passes on what libpq said about the connection to a worker, with the code of an internal error.
const workerLost =
  /^(?:server closed the connection|could not (?:receive data from|send data to) server|no connection to the server)/;
const networkFault =
  /^(?:ECONN\w+|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|EHOSTDOWN|ENOTFOUND|EAI_AGAIN|ENOENT|ERR_SOCKET_CLOSED)$/;

// pg has no code for a connection that closes during a statement.
const closed = /^Connection terminated|timeout expired|not queryable|after calling end|establishing an SSL/;
export const wrongPassword = "28P01";
// pg has no code for a missing password, nor for a server without TLS.
const missingPassword = /^SASL: .*client password must be/;
const noTls = "The server does not support SSL connections";
const certificateFault = /^(?:UNABLE_TO_\w+|CERT_\w+|\w*SELF_SIGNED_CERT\w*|ERR_TLS_CERT_ALTNAME_INVALID)$/;

export function kindOf(error: unknown): FaultKind {
  if (error instanceof ServerUnavailable) return "reconnect";
  if (error instanceof StoreUnavailable) return "unavailable";
  const code = codeOf(error);
  if (code === "XX000" && error instanceof Error && workerLost.test(error.message)) return "retry";
  if (isFromServer(error)) return kindsBySqlState.find(([codes]) => codes.test(code))?.[1] ?? "internal";
  return isUnreachable(error) || isClosed(error) ? "reconnect" : "internal";
}

/** Whether there was no connection, as opposed to a server that refused one. */
export function isUnreachable(error: unknown): boolean {
  return networkFault.test(codeOf(error));
}

/** Whether a retry may succeed. It is always safe: the id is the key, so a stored plant is found. */
export function isRetryableFault(error: unknown): boolean {
  return ["retry", "reconnect"].includes(kindOf(error));
}

/** Whether a smaller part of the same statement may succeed: a row caused the error. */
export function maySplit(error: unknown): boolean {
  return isFromServer(error) && ["plant", "internal"].includes(kindOf(error));
}

/** What a read throws: StoreUnavailable if a later one may succeed, otherwise the error itself. */
export function asStoreUnavailable(error: unknown): unknown {
  return kindOf(error) === "internal" || error instanceof StoreUnavailable
    ? error
    : new StoreUnavailable(reasonOf(error), { cause: error });
}

/** What to do about a login, a database or a certificate that someone must fix first; undefined for any other failure. */
export function adviceOn(error: unknown): string | undefined {
  const said = messageOf(error);
  const code = codeOf(error);
  if (code === wrongPassword || missingPassword.test(said))
    return "check the user and the password in the database URL, or PLANT_STORE_DATABASE_PASSWORD";
  if (code.startsWith("28")) return "check the user in the database URL, and pg_hba.conf there";
  if (code === "3D000") return "create it, or check its name in the database URL";
  if (said === noTls)
    return "turn on ssl there, or set sslmode=disable in the database URL if nobody can listen in between";
  return certificateFault.test(code)
    ? "set sslrootcert in the database URL to the certificate of its authority, and name the host as its certificate does"
    : undefined;
}

/** The message of the server or the network, in one line, without anything secret. */
export function reasonOf(error: unknown): string {
  const code = codeOf(error);
  const advice = adviceOn(error);
  const said = messageOf(error);
  const message = advice === undefined ? said : `${said.replace(/\.$/, "")}; ${advice}`;
  return code === "" || message.includes(code) ? message : `${message} (${code})`;
}

function isClosed(error: unknown): boolean {
  return error instanceof Error && codeOf(error) === "" && closed.test(error.message);
}

/** Errors of the network have codes too; only the server's have a severity. */
function isFromServer(error: unknown): boolean {
  return error instanceof Error && "severity" in error && codeOf(error).length === 5;
}
