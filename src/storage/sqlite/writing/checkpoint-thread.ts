import { Database } from "bun:sqlite";
import { fdatasyncSync, statSync } from "node:fs";
import { getPriority, platform, setPriority } from "node:os";
import { endThread } from "../end-thread.ts";
import { codeOf } from "../lock-wait.ts";
import type { CheckpointReply, CheckpointRequest, CheckpointSetting } from "./checkpointer.ts";

declare const self: Worker;

const lowPriority = 10;

lowerPriority();

// The other half of checkpointer.ts: a connection of its own, open for as long as the writer's.
self.onmessage = ({ data: setting }: MessageEvent<CheckpointSetting>) => {
  const { path, file, inode } = setting;
  const database = new Database(path, { readwrite: true, create: false, strict: true });
  if (statSync(path, { bigint: true }).ino !== inode) throw new Error("the data file was replaced");
  database.run("PRAGMA busy_timeout = 0");
  // As durable as the writer's own: the WAL is on disk before the data file is written, and that before the WAL restarts.
  database.run("PRAGMA synchronous = FULL");
  database.run("PRAGMA checkpoint_fullfsync = ON");
  // A connection opens its files with its first read, and must have them open if they are deleted later.
  database.query("SELECT count(*) FROM sqlite_schema").get();
  const checkpoint = database.query("PRAGMA wal_checkpoint(PASSIVE)");
  self.onmessage = ({ data: request }: MessageEvent<CheckpointRequest | typeof endThread>) => {
    if (request === endThread) {
      database.close();
      return self.postMessage(endThread);
    }
    self.postMessage(
      reply(request.kind, () => {
        if (request.kind === "copy") return void database.query("VACUUM INTO ?").run(request.to);
        checkpoint.get();
        // SQLite leaves the fsync to whoever checkpoints the last frame, which is the writer; done here, little is left to it.
        fdatasyncSync(file);
      }),
    );
  };
};

function reply(to: CheckpointRequest["kind"], work: () => void): CheckpointReply {
  try {
    work();
    return { to, kind: "done" };
  } catch (error) {
    return { to, kind: "failed", code: codeOf(error), message: String(error) };
  }
}

/** With fewer cores than busy threads, those that answer requests go first. Only Linux has a priority for each thread. */
function lowerPriority(): void {
  try {
    if (platform() === "linux" && getPriority() < lowPriority) setPriority(lowPriority);
  } catch {
    // A sandbox that forbids it: then all threads have the same priority.
  }
}
