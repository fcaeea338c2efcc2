import type { TokenStore } from "../../../access/tokens.ts";
import { realDataFile, requireDataFile } from "../data-file-path.ts";
import { syncWal } from "../durable-files.ts";
import { syncFailure } from "../failure-marker.ts";
import type { OpenOptions } from "../open.ts";
import { syncedReads } from "../reading/synced-reads.ts";
import { SqliteAudit } from "../sqlite-audit.ts";
import { SqliteTokens } from "../sqlite-tokens.ts";
import { checkpointBeforeClose } from "../truncate-wal.ts";
import { tryLock } from "../writer-lock.ts";
import { openRecovered } from "./open-writer.ts";
import { Writer } from "./writer.ts";

/** The tokens of a data file, for a command that may run alongside the service. */
export function openTokens(
  named: string,
  { create }: Pick<OpenOptions, "create">,
): { readonly tokens: TokenStore } & Disposable {
  if (!create) requireDataFile(realDataFile(named));
  const { database, path, lock } = openRecovered(named, tryLock, { create, migrate: false });
  // A service that runs fsyncs a transaction after its commit. If the power failed with that one and one of ours unsynced, the
  // next start could take the torn frames of the first for damage.
  const syncOthers = () => {
    if (lock === undefined) syncWal(path);
  };
  let failed = false;
  const writer = new Writer(database, {
    begun: syncOthers,
    committed: () => {},
    outcomeUnknown: ({ message }) => {
      failed = true;
      return syncFailure(path, message, database);
    },
  });
  const synced = syncedReads(path, syncOthers);
  return {
    tokens: new SqliteTokens(database, synced, { writer, audit: new SqliteAudit(database, synced, writer) }),
    [Symbol.dispose]() {
      // After a failed sync the process ends without closing, so that the WAL stays.
      if (failed) return;
      const failure = lock && checkpointBeforeClose(database);
      if (failure !== undefined) throw syncFailure(path, failure.message, database);
      database.close();
      lock?.[Symbol.dispose]();
    },
  };
}
