import { existsSync } from "node:fs";
import { dirname, resolve } from "node:path";
import type { TokenStore } from "../../../access/tokens.ts";
import { realDataFile } from "../data-file-path.ts";
import { DataFileProblem } from "../data-file-problem.ts";
import { makeDirectory, syncDirectory } from "../data-folder.ts";
import { recover } from "../maintenance/recovery.ts";
import { type OpenOptions, openDatabase } from "../open.ts";
import { SqliteTokens } from "../sqlite-tokens.ts";
import { checkpointBeforeClose } from "../truncate-wal.ts";
import { syncFailure } from "../unclosed-failure.ts";
import { tryLock } from "../writer-lock.ts";
import { Writer } from "./writer.ts";

/**
 * The tokens of a data file, for a command that may run beside the service. Where nobody holds the writer lock it is taken,
 * so that a WAL left by a crash is recovered as the service would; where the service holds it, the file is in order.
 */
export function openTokens(
  named: string,
  { create }: Pick<OpenOptions, "create">,
): { readonly tokens: TokenStore } & Disposable {
  const path = realDataFile(named);
  const made = create ? makeDirectory(dirname(resolve(path))) : [];
  if (!create && !existsSync(path)) throw new DataFileProblem(`The data file ${path} does not exist.`);
  const lock = tryLock(path);
  try {
    if (lock !== undefined) recover(path);
    const database = openDatabase(path, { create: create && lock !== undefined, migrate: false });
    // A power loss may not take away the folders that were just made for the file.
    for (const folder of made) syncDirectory(folder);
    database.run("PRAGMA busy_timeout = 0");
    let failed = false;
    const writer = new Writer(database, {
      committed: () => {},
      outcomeUnknown: ({ message }) => {
        failed = true;
        return syncFailure(path, message, database);
      },
    });
    return {
      tokens: new SqliteTokens(database, writer),
      [Symbol.dispose]() {
        // After a failed sync the process ends without closing, so that the WAL stays.
        if (failed) return;
        const failure = lock && checkpointBeforeClose(database);
        if (failure !== undefined) throw syncFailure(path, failure.message, database);
        database.close();
        lock?.[Symbol.dispose]();
      },
    };
  } catch (error) {
    lock?.[Symbol.dispose]();
    throw error;
  }
}
