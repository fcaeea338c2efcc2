import type { TokenStore } from "../../access/tokens.ts";
import { type OpenOptions, openDatabase } from "./open.ts";
import { SqliteTokens } from "./sqlite-tokens.ts";

/** The tokens of a data file, also while a service runs on it: it sees the change by itself. */
export function openTokens(path: string, options: OpenOptions): { readonly tokens: TokenStore } & Disposable {
  const database = openDatabase(path, options);
  return { tokens: new SqliteTokens(database), [Symbol.dispose]: () => database.close() };
}
