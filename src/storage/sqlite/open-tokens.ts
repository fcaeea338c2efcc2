import { existsSync } from "node:fs";
import { dirname, resolve } from "node:path";
import type { TokenStore } from "../../access/tokens.ts";
import { DataFileProblem } from "./data-file-problem.ts";
import { makeDirectory, type OpenOptions, openDatabase } from "./open.ts";
import { recover } from "./recovery.ts";
import { SqliteTokens } from "./sqlite-tokens.ts";
import { Writer } from "./writer.ts";
import { WriterLock } from "./writer-lock.ts";

/**
 * The tokens of a data file, for a command that may run beside the service. Where nobody holds the writer lock it is taken,
 * so that a WAL left by a crash is recovered as the service would; where the service holds it, the file is in order.
 */
export function openTokens(
  path: string,
  { create }: Pick<OpenOptions, "create">,
): { readonly tokens: TokenStore } & Disposable {
  if (create) makeDirectory(dirname(resolve(path)));
  else if (!existsSync(path)) throw new DataFileProblem(`The data file ${path} does not exist.`);
  const lock = WriterLock.tryAcquire(path);
  try {
    if (lock !== undefined) recover(path);
    const database = openDatabase(path, { create: create && lock !== undefined, migrate: false });
    database.run("PRAGMA busy_timeout = 0");
    let failed = false;
    const writer = new Writer(database, {
      committed: () => {},
      outcomeUnknown: () => {
        failed = true;
      },
    });
    return {
      tokens: new SqliteTokens(database, writer),
      [Symbol.dispose]() {
        // After a failed sync the process ends without closing, so that the WAL stays.
        if (!failed) database.close();
        lock?.[Symbol.dispose]();
      },
    };
  } catch (error) {
    lock?.[Symbol.dispose]();
    throw error;
  }
}
