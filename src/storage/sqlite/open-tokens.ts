import type { TokenStore } from "../../access/tokens.ts";
import { openDatabase } from "./open.ts";
import { SqliteTokens } from "./sqlite-tokens.ts";

/** The tokens of a data file, also while a service runs on it: it sees the change by itself. */
export function openTokens(path: string): { readonly tokens: TokenStore } & Disposable {
  const database = openDatabase(path, { create: true });
  return { tokens: new SqliteTokens(database), [Symbol.dispose]: () => database.close() };
}
