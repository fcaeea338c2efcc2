// The thread of checkpointer.ts, with a connection of its own, open for as long as the writer's. What it reports as checkpointed
// is on disk.
import { fdatasyncSync } from "node:fs";
import { getPriority, platform, setPriority } from "node:os";
import { closeOnError, connect, readSchema, setDurable } from "../data-file/connect.ts";
import { inodeAt, isSameInode } from "../data-file/inode.ts";
import { serveThread } from "../threads/thread.ts";
import type { CheckpointCalls, CheckpointStartData } from "./checkpointer.ts";

const lowPriority = 10;

lowerPriority();

serveThread<CheckpointStartData>(({ path, data, inode }) => {
  const database = connect(path, 0);
  // We close it ourselves: Bun closes what a thread leaves open, and empties the WAL before.
  closeOnError(database, () => {
    if (!isSameInode(inodeAt(path), inode)) throw new Error("the data file was replaced");
    // Like the writer's, it syncs the WAL before it writes to the data file, and the data file before the WAL restarts.
    setDurable(database);
    // The connection must have its files open in case they are deleted later.
    readSchema(database);
  });
  const checkpoint = database.query("PRAGMA wal_checkpoint(PASSIVE)");
  const calls: CheckpointCalls = {
    checkpoint() {
      checkpoint.get();
      // SQLite fsyncs the data file only when it has checkpointed the last frame; after this fsync that one is short.
      const startedMs = performance.now();
      fdatasyncSync(data);
      return performance.now() - startedMs;
    },
  };
  return { calls, close: () => database.close() };
});

/** With fewer cores than busy threads, those that answer requests have priority. Only Linux has a priority for each thread. */
function lowerPriority(): void {
  try {
    if (platform() === "linux" && getPriority() < lowPriority) setPriority(lowPriority);
  } catch {
    // A sandbox that forbids it: then all threads have the same priority.
  }
}
