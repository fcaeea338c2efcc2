import { Database } from "bun:sqlite";
import { fdatasyncSync } from "node:fs";
import { getPriority, platform, setPriority } from "node:os";
import type { CheckpointThreadSetting } from "./checkpointer.ts";
import { endThread } from "./end-thread.ts";

declare const self: Worker;

const lowPriority = 10;

giveWay();

// The other half of checkpointer.ts: a connection of its own, which only ever brings the log into the database.
self.onmessage = ({ data }: MessageEvent<CheckpointThreadSetting>) => {
  const database = new Database(data.path, { readwrite: true, create: false, strict: true });
  database.run("PRAGMA busy_timeout = 0");
  // As durable as the writer's own: the log is on disk before the database is written, and that before the log is reused.
  database.run("PRAGMA synchronous = FULL");
  database.run("PRAGMA checkpoint_fullfsync = ON");
  const checkpoint = database.query("PRAGMA wal_checkpoint(PASSIVE)");
  self.onmessage = ({ data: asked }: MessageEvent<string>) => {
    if (asked === endThread) {
      database.close();
      return self.postMessage(endThread);
    }
    try {
      checkpoint.get();
      // SQLite leaves the fsync to whoever brings in the last page, which is the writer; done here, little is left to it.
      fdatasyncSync(data.file);
    } catch {
      // A full disk or a failing one: the writer meets it too, and knows what to answer.
    }
    self.postMessage("done");
  };
};

/** Where there are fewer cores than busy threads, those that answer come first. Only Linux can do this for one thread. */
function giveWay(): void {
  try {
    if (platform() === "linux" && getPriority() < lowPriority) setPriority(lowPriority);
  } catch {
    // A sandbox that forbids it: then all are equal, as before.
  }
}
