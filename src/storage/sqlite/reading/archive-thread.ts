import { Database } from "bun:sqlite";
import { CursorProblem } from "../../../plants/plant-archive.ts";
import { endThread } from "../end-thread.ts";
import { SqliteArchive } from "./sqlite-archive.ts";
import type { ArchiveAnswer, ArchiveQuestion } from "./threaded-archive.ts";

declare const self: Worker;

// The other half of threaded-archive.ts: a connection that only reads, and answers one question after another.
self.onmessage = ({ data: path }: MessageEvent<string>) => {
  const database = new Database(path, { readonly: true, strict: true, safeIntegers: true });
  database.run("PRAGMA busy_timeout = 5000");
  const archive = new SqliteArchive(database, path);
  self.onmessage = async ({ data }: MessageEvent<ArchiveQuestion | typeof endThread>) => {
    if (data === endThread) {
      database.close();
      return self.postMessage(endThread);
    }
    const { method, values } = data;
    self.postMessage(
      await answer(() => (archive[method] as (...given: unknown[]) => Promise<unknown>)(...values)),
    );
  };
};

async function answer(ask: () => Promise<unknown>): Promise<ArchiveAnswer> {
  try {
    return { kind: "result", result: await ask() };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return { kind: error instanceof CursorProblem ? "wrong-cursor" : "failed", message };
  }
}
