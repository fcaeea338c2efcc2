import { connectBesideWriter } from "../data-file/connect.ts";
import { serveThread } from "../threads/thread.ts";
import { readAuditPage } from "./audit-page.ts";
import type { ReaderCalls } from "./reader.ts";
import { SqliteArchive } from "./sqlite-archive.ts";

// Serves the Reader of reader.ts from a connection that only reads, beside the writer of the same process.
serveThread<string>((path) => {
  const database = connectBesideWriter(path);
  const auditPage: ReaderCalls["auditPage"] = async (...request) => readAuditPage(database, ...request);
  const calls: ReaderCalls = Object.assign(new SqliteArchive(database, path), { auditPage });
  return { calls, close: () => database.close() };
});
