// Opens the store that --database names, a data file or a PostgreSQL database, for the service or for a command.

import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { FirstTokenFile } from "../access/first-token.ts";
import { isDatabaseUrl } from "../config/database.ts";
import type { ConfiguredBackups } from "../plants/plant-backups.ts";
import { waitAtMost } from "../retry/wait-at-most.ts";
import { Problem } from "../system/problem.ts";
import type { PostgresOptions } from "./postgres/server.ts";
import { BackupFolder } from "./sqlite/copying/backup-folder.ts";
import { firstTokenPath, realDataFile } from "./sqlite/data-file/data-file-path.ts";
import type { LostWal } from "./sqlite/data-file/data-file-problem.ts";
import { fileSize, writeNew } from "./sqlite/data-file/durable-files.ts";
import { refuseStillOpen } from "./sqlite/data-file/writer-lock.ts";
import { openMigrated } from "./sqlite/opening/open-read-only.ts";
import { syncedAuditPages } from "./sqlite/reading/audit-page.ts";
import { SqliteArchive } from "./sqlite/reading/sqlite-archive.ts";
import { syncedArchive, syncedReads } from "./sqlite/reading/synced-reads.ts";
import { SqliteStore } from "./sqlite/sqlite-store.ts";
import { openTokenFile, readTokens } from "./sqlite/sqlite-tokens.ts";
import type { OpeningEvents, ReadableStore, Store, StoreEvents } from "./store.ts";

// Long enough for any reachable server; a migration may take longer, and the service listens meanwhile.
const openMsMax = 3000;
// A folder on another machine that does not respond keeps no start waiting.
const backupFolderMsMax = 1000;

// Loaded only for PostgreSQL: a service on a data file needs neither the time nor the memory that pg costs.
const loadPostgres = () => import("./postgres/postgres-store.ts");

export interface StoreSetting extends PostgresOptions {
  /** The path of a data file, or postgres://… */
  readonly database: string;
  readonly backupFolder?: string | undefined;
}

/** Opens the store that the setting names, and creates or migrates its tables. */
export async function openStore(setting: StoreSetting, events: StoreEvents = {}): Promise<Store> {
  const { database } = setting;
  if (!isDatabaseUrl(database)) return new SqliteStore(database, events);
  const { PostgresStore } = await loadPostgres();
  return PostgresStore.open(database, setting, "upgrade");
}

/** Opens the store of a service, which does not wait for an unreachable server: then the store opens in the background. */
export async function openServiceStore(
  setting: StoreSetting,
  events: OpeningEvents & StoreEvents,
  backups: ConfiguredBackups = configuredBackups(setting),
): Promise<Store> {
  const { database } = setting;
  if (!isDatabaseUrl(database)) {
    await refuseIfBackupsExist(database, backups);
    return new SqliteStore(database, events);
  }
  const { PostgresStore } = await loadPostgres();
  const waiting = Promise.withResolvers<void>();
  const databaseUnavailable = (reason: string): void => {
    events.databaseUnavailable(reason);
    waiting.resolve();
  };
  const store = PostgresStore.start(database, setting, { ...events, databaseUnavailable });
  try {
    await waitAtMost(openMsMax, Promise.race([store.opening, waiting.promise]));
  } catch (error) {
    await store[Symbol.asyncDispose]();
    throw error;
  }
  return store;
}

/**
 * Opens a store for reading, even while a service uses it, or on read-only media. A data file whose WAL was lost is refused,
 * unless there is a function that warns of it.
 */
export async function openForReading(
  setting: StoreSetting,
  warnOfLostWal?: (problem: LostWal) => void,
): Promise<ReadableStore> {
  const { database } = setting;
  if (isDatabaseUrl(database)) {
    const { PostgresStore } = await loadPostgres();
    return PostgresStore.open(database, setting, "none");
  }
  const path = realDataFile(database);
  const connection = openMigrated(database, warnOfLostWal);
  const synced = syncedReads(path, () => {});
  return {
    archive: syncedArchive(new SqliteArchive(connection, path), synced),
    tokens: { all: () => readTokens(connection, synced) },
    audit: { page: syncedAuditPages(connection, synced) },
    [Symbol.asyncDispose]: async () => connection.close(),
  };
}

/** The folder with the backups of a store; or why there is none. */
export function configuredBackups({
  database,
  backupFolder: folderPath,
}: Pick<StoreSetting, "database" | "backupFolder">): ConfiguredBackups {
  if (isDatabaseUrl(database))
    return {
      folder: undefined,
      unavailable: "Back up PostgreSQL with its own tools, such as pg_dump or pg_basebackup.",
    };
  if (folderPath === undefined)
    return {
      folder: undefined,
      unavailable: "Set --backup-folder to an existing folder to make backups here.",
    };
  return { folder: new BackupFolder(resolve(database), resolve(folderPath)), unavailable: undefined };
}

/** Opens only the tokens of a store, even while a service uses it; it notices the changes. */
export async function openTokens(
  setting: StoreSetting,
  { mayCreate }: { readonly mayCreate: boolean },
): Promise<Pick<Store, "tokens"> & AsyncDisposable> {
  const { database } = setting;
  if (isDatabaseUrl(database)) {
    const { PostgresStore } = await loadPostgres();
    return PostgresStore.open(database, setting, mayCreate ? "create" : "none");
  }
  if (mayCreate) await refuseIfBackupsExist(database, configuredBackups(setting));
  return openTokenFile(database, { mayCreate });
}

/**
 * A store that has backups is not begun again where its data file is missing: mostly its disk is not mounted.
 * @throws Problem there are backups of it in the folder, or a process still has it open.
 */
export async function refuseIfBackupsExist(database: string, { folder }: ConfiguredBackups): Promise<void> {
  const path = realDataFile(database);
  refuseStillOpen(path);
  if (folder === undefined || fileSize(path) > 0) return;
  const late = sleep(backupFolderMsMax, undefined, { ref: false });
  // A folder that cannot be listed is what the service warns of.
  const listed = folder.list().catch(() => undefined);
  const newest = (await Promise.race([listed, late]))?.[0];
  if (newest === undefined) return;
  const backup = join(folder.folderPath, newest.name);
  throw new Problem(
    `${path} is missing or empty, but ${backup} is a backup of it. Is its disk mounted? If it is gone: \`plant-store restore ${backup} --replace --database ${path}\`. To begin an empty store, choose another name or another backup folder.`,
  );
}

/**
 * The file for the first token: in the folder for it, if there is one, or else beside the data file. Undefined if there is
 * neither.
 */
export function firstTokenFile(
  database: string,
  tokenFolder: string | undefined,
): FirstTokenFile | undefined {
  if (tokenFolder !== undefined) return { path: join(resolve(tokenFolder), "first-token"), writeNew };
  if (isDatabaseUrl(database)) return undefined;
  return { path: firstTokenPath(database), writeNew };
}
