import { setTimeout as sleep } from "node:timers/promises";
import { codeOf } from "../../system/errors.ts";
import { misuse, Problem } from "../../system/problem.ts";
import { findRewriting, refuseMissingPrivileges, refuseSharedSession } from "./database-checks.ts";
import { adviceOn, isUnreachable, kindOf, reasonOf, wrongPassword } from "./faults.ts";
import { migrate, type TableChanges } from "./migrations/migrate.ts";
import { retryWaitMs } from "./retry-wait.ts";
import type { Server } from "./server.ts";
import type { Session } from "./session.ts";

export interface Preparation {
  readonly server: Server;
  /** With `upgrade`, as for a node, its sessions and privileges are checked too. */
  readonly changes: TableChanges;
  /** After this long an unreachable server is a failure. A service waits indefinitely. */
  readonly timeoutMs: number;
  /** Called with each new reason for which it waits. */
  readonly onWaiting: (reason: string) => void;
  readonly signal: AbortSignal;
}

// Roles, privileges and settings that someone must fix first; sessions that a pooler shares.
const mustBeFixed = /^(?:42(?:501|704|P05)|22023|26000)$/;

/**
 * Prepares the database, and waits for its server while it is unreachable. With `upgrade`, returns the triggers and rules that
 * may change or drop a plant before it is stored, such as `trigger "shout"`.
 * @throws Problem a setting must change first.
 * @throws Problem it failed, or was unreachable for too long.
 */
export async function prepare(preparation: Preparation): Promise<readonly string[]> {
  const deadlineMs = performance.now() + preparation.timeoutMs;
  let waitsFor = "";
  for (let attempt = 0; ; attempt++) {
    try {
      return await prepareOnce(preparation);
    } catch (error) {
      const fatal = findFatalProblem(error, preparation.server);
      if (fatal !== undefined) throw fatal;
      const reason = reasonOf(error);
      if (performance.now() > deadlineMs)
        throw new Problem(
          `The database cannot be used: ${reason}.${isUnreachable(error) ? " Is it running, and is its address in the database URL right?" : ""}`,
        );
      if (reason !== waitsFor) preparation.onWaiting(reason);
      waitsFor = reason;
      await sleep(retryWaitMs(attempt), undefined, { signal: preparation.signal });
    }
  }
}

async function prepareOnce({ server, changes }: Preparation): Promise<readonly string[]> {
  await using sessions = new AsyncDisposableStack();
  const open = async (): Promise<Session> =>
    // A transaction that is still open is rolled back.
    sessions.adopt(await server.open(), (session) => session.destroy());
  const session = await open();
  if (changes !== "upgrade") {
    await migrate(session, changes);
    return [];
  }
  await refuseSharedSession(session, await open());
  await migrate(session, changes);
  await refuseMissingPrivileges(session);
  // It is awaited here, since the sessions are closed on return.
  return await findRewriting(session);
}

/** The problem for the operator, if no later attempt can succeed. */
function findFatalProblem(error: unknown, { passwordMayChange }: Server): Problem | undefined {
  if (error instanceof Problem) return error;
  const code = codeOf(error);
  if (code === wrongPassword && passwordMayChange) return undefined;
  const sentence = `The database cannot be used: ${reasonOf(error)}.`;
  if (mustBeFixed.test(code) || adviceOn(error) !== undefined) return misuse(sentence);
  const isFatal = !["retry", "reconnect", "unavailable"].includes(kindOf(error));
  return isFatal ? new Problem(sentence) : undefined;
}
