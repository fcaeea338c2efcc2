import { Database } from "bun:sqlite";
import { lockWaitMsMax } from "../connect.ts";
import { serveThread } from "../thread.ts";
import { readAuditPage } from "./audit-page.ts";
import { SqliteArchive } from "./sqlite-archive.ts";
import type { ReaderCalls } from "./synced-reads.ts";

// Serves the ReaderThread of synced-reads.ts from a connection that only reads.
serveThread<string>((path) => {
  const database = new Database(path, { readonly: true, strict: true, safeIntegers: true });
  database.run(`PRAGMA busy_timeout = ${lockWaitMsMax}`);
  const auditPage: ReaderCalls["auditPage"] = async (...request) => readAuditPage(database, ...request);
  const calls: ReaderCalls = Object.assign(new SqliteArchive(database, path), { auditPage });
  return { calls, stop: () => database.close() };
});
