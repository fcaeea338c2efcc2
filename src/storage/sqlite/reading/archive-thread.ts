import { Database } from "bun:sqlite";
import { lockWaitMsMax } from "../connect.ts";
import { serveThread } from "../thread.ts";
import { SqliteArchive } from "./sqlite-archive.ts";

// Serves the ReaderThread of synced-reads.ts from a connection that only reads.
serveThread<string>((path) => {
  const database = new Database(path, { readonly: true, strict: true, safeIntegers: true });
  database.run(`PRAGMA busy_timeout = ${lockWaitMsMax}`);
  return { calls: new SqliteArchive(database, path), stop: () => database.close() };
});
