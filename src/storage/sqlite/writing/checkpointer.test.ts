import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { closeSync, openSync, statSync } from "node:fs";
import { join } from "node:path";
import { eventually } from "../../../../test/support/eventually.ts";
import { temporaryFolder } from "../../../../test/support/temporary-folder.ts";
import type { Inode } from "../data-file/inode.ts";
import { type FromThread, Thread, type ToThread } from "../thread.ts";
import type { OpenFiles } from "./checkpoint-check.ts";
import { type CheckpointCalls, type Checkpointed, Checkpointer } from "./checkpointer.ts";
import { DataFileWatch } from "./data-file-watch.ts";
import { openForWriting } from "./open-for-writing.ts";

// One plant that is large enough to start a checkpoint.
const framesMax = 200;
const hugeName = "x".repeat(1_000_000);

/** A data file with its checkpointer, and ways to fill the WAL. */
function opened() {
  const folder = temporaryFolder();
  const path = join(folder.path, "plants.db");
  const file = openForWriting(path);
  const { database } = file;
  const watch = new DataFileWatch(path, () => {});
  const overwritten: string[] = [];
  const files = {
    path,
    files: watch.files,
    dataBytes: 0,
    intact: true,
    checkAndReport: () => files.intact,
    reportOverwritten: (file: string): void => {
      overwritten.push(file);
      checkpointer.stop();
    },
  };
  const failed: string[] = [];
  const checkpoints: boolean[] = [];
  const paused: string[] = [];
  const owner = {
    checkpointFailed: ({ message }: Error) => failed.push(message),
    async whilePaused(work: () => Promise<void>) {
      paused.push("begin");
      await work();
      paused.push(failed.length === 0 ? "end" : "end after a failure");
    },
  };
  const events = { checkpointed: (succeeded: boolean) => checkpoints.push(succeeded) };
  const checkpointer = new Checkpointer(database, files, owner, events, { framesMax, lookEveryMs: 0 });
  let id = 0;
  const insert = database.query(
    "INSERT INTO plants (id, name, created_at_ms, created_by) VALUES (?, ?, 1, 'test')",
  );
  return {
    database,
    path,
    failed,
    checkpoints,
    paused,
    files,
    overwritten,
    checkpointer,
    /** One commit, large enough for a checkpoint or not. */
    commit(size: "huge" | "small"): void {
      insert.run(id++, size === "huge" ? hugeName : "fern");
      checkpointer.committed();
    },
    /** One commit that starts a checkpoint, and the end of that. */
    async fill(): Promise<void> {
      const before = checkpoints.length;
      this.commit("huge");
      await eventually(() => checkpoints.length > before);
    },
    async [Symbol.asyncDispose]() {
      watch.stop();
      await checkpointer.close();
      file[Symbol.dispose]();
      watch.closeFiles();
      folder[Symbol.dispose]();
    },
  };
}

test("the WAL restarts when it has been checkpointed, so that it does not grow, unless a reader keeps it", async () => {
  await using store = opened();
  const walBytes = () => statSync(`${store.path}-wal`).size;
  for (let plants = 0; plants < 4; plants++) await store.fill();
  expect(walBytes()).toBeLessThan(2 * hugeName.length);
  using reader = new Database(store.path, { readonly: true });
  reader.run("BEGIN");
  reader.query("SELECT count(*) FROM plants").get();
  for (let plants = 0; plants < 3; plants++) await store.fill();
  expect(walBytes()).toBeGreaterThan(2 * hugeName.length);
  reader.run("COMMIT");
  await store.fill();
  const bytes = walBytes();
  await store.fill();
  expect(walBytes()).toEqual(bytes);
  expect(store.failed).toEqual([]);
});

test("a WAL whose length cannot be read is a failed checkpoint, and not a failed commit", async () => {
  await using store = opened();
  const database = new Database(store.path);
  const failed: string[] = [];
  const owner = {
    checkpointFailed: ({ message }: Error) => failed.push(message),
    whilePaused: (work: () => Promise<void>) => work(),
  };
  const checkpointer = new Checkpointer(database, store.files, owner, {}, { framesMax, lookEveryMs: 0 });
  database.close();
  checkpointer.committed();
  await checkpointer.close();
  expect(failed).toEqual([expect.stringContaining("A checkpoint failed: ")]);
});

/** A checkpoint thread that answers on cue; it simulates one whose disk fails, or that dies. */
function cuedThread() {
  const RealWorker = globalThis.Worker;
  const calls: (ToThread & { kind: "call" })[] = [];
  const thread = Object.assign(new EventTarget(), {
    onmessage: (_event: { data: FromThread }) => {},
    postMessage(message: ToThread): void {
      if (message.kind === "call") calls.push(message);
    },
    terminate: () => {},
  });
  globalThis.Worker = function started() {
    return thread;
  } as unknown as typeof Worker;
  return {
    calls,
    /** Answers the last call, with the code of a failure if there is one. */
    async answer(answer: string | Checkpointed = { syncMs: 1 }): Promise<void> {
      const number = calls.at(-1)?.number ?? 0;
      const data: FromThread =
        typeof answer === "string"
          ? { kind: "error", number, error: { name: "SQLiteError", message: answer, code: answer } }
          : { kind: "result", number, result: answer };
      thread.onmessage({ data });
      // Everything that follows from it is in microtasks.
      await new Promise((resolve) => setImmediate(resolve));
    },
    end: () => thread.dispatchEvent(new Event("close")),
    [Symbol.dispose]: () => {
      thread.dispatchEvent(new Event("close"));
      globalThis.Worker = RealWorker;
    },
  };
}

test("a checkpoint thread whose fsync fails has failed, and is never asked again", async () => {
  using thread = cuedThread();
  await using store = opened();
  store.commit("huge");
  expect(thread.calls.map(({ method }) => method)).toEqual(["checkpoint"]);
  await thread.answer("EIO");
  store.commit("huge");
  expect(store).toMatchObject({ failed: ["A checkpoint failed: SQLiteError: EIO."], checkpoints: [false] });
  expect(thread.calls).toHaveLength(1);
});

test.each(["SQLITE_BUSY", "SQLITE_BUSY_RECOVERY", "SQLITE_FULL"])(
  "a checkpoint thread that reports %s has not failed, and is asked again later",
  async (code) => {
    using thread = cuedThread();
    await using store = opened();
    store.commit("huge");
    await thread.answer(code);
    expect(store).toMatchObject({ failed: [], checkpoints: [false] });
    store.commit("small");
    expect(thread.calls).toHaveLength(1);
    store.commit("huge");
    expect(thread.calls).toHaveLength(2);
    thread.end();
  },
);

test("a checkpoint thread whose writer does not stop writing gets a pause for the rest, before the end of which a failure is known", async () => {
  for (const [code, end] of [
    [undefined, "end"],
    ["SQLITE_IOERR_FSYNC", "end after a failure"],
  ] as const) {
    using thread = cuedThread();
    await using store = opened();
    store.commit("huge");
    // Frames are left after each round, as if they had been written meanwhile.
    for (let round = 0; round < 4; round++) {
      expect(store.paused).toEqual([]);
      await thread.answer();
    }
    expect(store.paused).toEqual(["begin"]);
    expect(store.checkpoints).toEqual([]);
    await thread.answer(code);
    expect(store.paused).toEqual(["begin", end]);
    expect(store.checkpoints).toEqual([code === undefined]);
    expect(thread.calls).toHaveLength(5);
    thread.end();
  }
});

test("a checkpoint thread that a reader kept from finishing is asked again after as many frames, or when the WAL has restarted", async () => {
  using thread = cuedThread();
  await using store = opened();
  store.commit("huge");
  for (let round = 0; round < 5; round++) await thread.answer();
  store.commit("small");
  expect(thread.calls).toHaveLength(5);
  // The reader has ended, and another process checkpoints.
  store.database.run("PRAGMA wal_checkpoint(TRUNCATE)");
  store.commit("small");
  expect(thread.calls).toHaveLength(5);
  store.commit("huge");
  expect(thread.calls).toHaveLength(6);
  thread.end();
});

test.each(["idle", "busy"])(
  "a checkpoint thread that ends while it is %s makes the outcome unknown",
  async (state) => {
    using thread = cuedThread();
    await using store = opened();
    if (state === "busy") store.commit("huge");
    thread.end();
    expect(store.failed).toEqual(["A checkpoint failed: ThreadLost: the thread ended."]);
  },
);

test("a checkpoint thread is not asked when the files are not the ones that were opened, or it was stopped", async () => {
  using thread = cuedThread();
  await using lost = opened();
  lost.files.intact = false;
  lost.commit("huge");
  expect(thread.calls).toEqual([]);
  await using stopped = opened();
  stopped.commit("huge");
  stopped.checkpointer.stop();
  stopped.commit("huge");
  await thread.answer();
  stopped.commit("huge");
  expect(thread.calls).toHaveLength(1);
  // A thread that is lost with the files says nothing that is not reported already.
  thread.end();
  expect(lost.failed).toEqual([]);
});

test("a checkpoint thread that finds an overwritten file is not asked again, and the file is reported", async () => {
  using thread = cuedThread();
  await using store = opened();
  store.commit("huge");
  await thread.answer({ syncMs: 0, overwritten: "WAL" });
  store.commit("huge");
  expect(store.overwritten).toEqual(["WAL"]);
  expect(store.checkpoints).toEqual([]);
  expect(thread.calls).toHaveLength(1);
});

test("a checkpoint thread that fails while the store is being closed has failed as at any other time", async () => {
  using thread = cuedThread();
  await using store = opened();
  store.commit("huge");
  const closed = store.checkpointer.close();
  await thread.answer("SQLITE_IOERR_FSYNC");
  await closed;
  expect(store.failed).toEqual(["A checkpoint failed: SQLITE_IOERR_FSYNC."]);
});

test("a checkpoint thread does not start on a data file that was replaced, and fails where its fsync of the data file does", async () => {
  using folder = temporaryFolder();
  const path = join(folder.path, "plants.db");
  using _file = openForWriting(path);
  const { dev, ino } = statSync(path, { bigint: true });
  const watch = new DataFileWatch(path, () => {});
  watch.stop();
  const asked = async (setting: { inode: Inode; files: OpenFiles }) => {
    const thread = new Thread<CheckpointCalls>("storage/sqlite/writing/checkpoint-thread", {
      setting: { path, ...setting },
      keepsProcessAlive: false,
    });
    const reason = await thread.ask("checkpoint", 0).catch((error: Error) => error);
    await thread.stop();
    return reason;
  };
  expect(String(await asked({ inode: { dev, ino: ino + 1n }, files: watch.files }))).toContain(
    "the data file was replaced",
  );
  // It can be read, but not synced.
  const data = openSync("/dev/null", "r");
  expect(await asked({ inode: { dev, ino }, files: { ...watch.files, data } })).toMatchObject({
    code: "EINVAL",
  });
  watch.closeFiles();
  closeSync(data);
});
