import type { TokenStore } from "../access/tokens.ts";
import type { PlantArchive } from "../plants/plant-archive.ts";
import { isDatabaseUrl } from "./postgres/database-url.ts";
import { type PostgresOptions, PostgresStore } from "./postgres/postgres-store.ts";
import type { OpenOptions } from "./sqlite/open.ts";
import { openReadOnly } from "./sqlite/open-read-only.ts";
import { openTokens as openTokenFile } from "./sqlite/open-tokens.ts";
import { SqliteArchive } from "./sqlite/sqlite-archive.ts";
import { SqliteStore } from "./sqlite/sqlite-store.ts";
import { SqliteTokens } from "./sqlite/sqlite-tokens.ts";
import type { Store, StoreEvents } from "./store.ts";

export interface StoreSetting extends PostgresOptions {
  /** The path of a data file, or postgres://… */
  readonly database: string;
}

/** Opens the store that the setting names, and makes or mends its tables. */
export async function openStore(setting: StoreSetting, events: StoreEvents = {}): Promise<Store> {
  const { database } = setting;
  return isDatabaseUrl(database) ? PostgresStore.open(database, setting) : new SqliteStore(database, events);
}

/** For reading a store, also while a service runs on it, and where nobody can write. */
export async function openArchive(
  setting: StoreSetting,
): Promise<{ readonly archive: PlantArchive; readonly tokens: TokenStore } & AsyncDisposable> {
  const { database } = setting;
  if (isDatabaseUrl(database)) return PostgresStore.open(database, setting);
  const file = openReadOnly(database);
  return {
    archive: new SqliteArchive(file, database),
    tokens: new SqliteTokens(file, undefined),
    [Symbol.asyncDispose]: async () => file.close(),
  };
}

/** The tokens of a store alone, also while a service runs on it: it sees the change by itself. */
export async function openTokens(
  setting: StoreSetting,
  { create }: Pick<OpenOptions, "create">,
): Promise<{ readonly tokens: TokenStore } & AsyncDisposable> {
  const { database } = setting;
  if (isDatabaseUrl(database)) return PostgresStore.open(database, setting);
  const file = openTokenFile(database, { create });
  return { tokens: file.tokens, [Symbol.asyncDispose]: async () => file[Symbol.dispose]() };
}
