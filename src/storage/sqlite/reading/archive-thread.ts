import { Database } from "bun:sqlite";
import { lockWaitMsMax } from "../connect.ts";
import { serveThread } from "../thread.ts";
import { readAuditPage } from "./audit-page.ts";
import type { ReaderCalls } from "./reader-thread.ts";
import { SqliteArchive } from "./sqlite-archive.ts";

// Serves the ReaderThread of reader-thread.ts from a connection that only reads.
serveThread<string>((path) => {
  const database = new Database(path, { readonly: true, strict: true, safeIntegers: true });
  database.run(`PRAGMA busy_timeout = ${lockWaitMsMax}`);
  const auditPage: ReaderCalls["auditPage"] = async (...request) => readAuditPage(database, ...request);
  const calls: ReaderCalls = Object.assign(new SqliteArchive(database, path), { auditPage });
  return { calls, stop: () => database.close() };
});
