import type { TokenStore } from "../../access/tokens.ts";
import { realDataFile, refuseMissingFile } from "./data-file/data-file-path.ts";
import { syncWal } from "./data-file/durable-files.ts";
import { recordSyncFailure } from "./data-file/left-open.ts";
import { syncedAuditPages } from "./reading/audit-page.ts";
import { syncedReads } from "./reading/synced-reads.ts";
import { SqliteAudit } from "./sqlite-audit.ts";
import { SqliteTokens } from "./sqlite-tokens.ts";
import { openBeside } from "./writing/open-for-writing.ts";
import { Writer } from "./writing/writer.ts";

/** The tokens of a data file, for a command that may run alongside the service. */
export function openTokenFile(
  named: string,
  { create }: { readonly create: boolean },
): { readonly tokens: TokenStore } & AsyncDisposable {
  if (!create) refuseMissingFile(realDataFile(named));
  const file = openBeside(named, { create });
  const { database, path, holdsLock } = file;
  // A service that runs fsyncs a transaction after its commit. If the power failed with that one and one of ours unsynced, the
  // next start could take the torn frames of the first for damage.
  const syncOthers = () => {
    if (!holdsLock) syncWal(path);
  };
  let failed = false;
  const writer = new Writer(database, {
    beforeWork: syncOthers,
    afterCommit: () => {},
    reportUnknown: ({ message }) => {
      failed = true;
      return recordSyncFailure(path, message, database);
    },
  });
  const synced = syncedReads(path, syncOthers);
  const audit = new SqliteAudit(database, syncedAuditPages(database, synced), writer);
  return {
    tokens: new SqliteTokens(database, synced, writer, audit),
    async [Symbol.asyncDispose]() {
      // After a failed sync the connection stays open (left-open.ts).
      if (!failed) file[Symbol.dispose]();
    },
  };
}
