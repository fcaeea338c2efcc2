import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { closeSync, openSync, statSync } from "node:fs";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { caught } from "../../../../test/support/caught.ts";
import { eventually } from "../../../../test/support/eventually.ts";
import { temporaryFolder } from "../../../../test/support/temporary-folder.ts";
import { type Inode, inodeOf } from "../data-file/inode.ts";
import { openForWriting } from "../opening/open-for-writing.ts";
import { type FromThread, Thread, type ToThread } from "../threads/thread.ts";
import { type CheckpointCalls, Checkpointer, type CheckpointStartData } from "./checkpointer.ts";
import { DataFileWatch } from "./data-file-watch.ts";

// One plant that is large enough to start a checkpoint.
const framesMax = 200;
const hugeName = "x".repeat(1_000_000);

/**
 * A data file with its checkpointer, and ways to fill the WAL. The checkpointer closes once its thread has answered: one that
 * answers on cue is ended before, also after a test that failed.
 */
function opened(thread?: ReturnType<typeof cuedThread>) {
  const folder = temporaryFolder();
  const path = join(folder.path, "plants.db");
  const file = openForWriting(path);
  const { database } = file;
  const watch = new DataFileWatch(path, database, () => {});
  const reports: string[] = [];
  const files = {
    path,
    files: watch.files,
    intact: true,
    checkAndReport: () => files.intact,
  };
  const owner = {
    checkpointFailed: ({ message }: Error) => reports.push(message),
    async whilePaused(work: () => Promise<void>) {
      reports.push("paused");
      await work();
      reports.push("resumed");
    },
  };
  let checkpoints = 0;
  const events = {
    checkpointed(hasSucceeded: boolean): void {
      checkpoints++;
      reports.push(hasSucceeded ? "checkpointed" : "not checkpointed");
    },
  };
  const checkpointer = new Checkpointer(database, files, owner, events, { framesMax, checkEveryMs: 0 });
  let id = 0;
  const insert = database.query(
    "INSERT INTO plants (id, name, created_at_ms, created_by) VALUES (?, ?, 1, 'test')",
  );
  return {
    path,
    files,
    checkpointer,
    /** What the checkpointer reported to anyone, in the order in which it did. */
    reports,
    /** One commit, large enough for a checkpoint or not. */
    commit(size: "huge" | "small"): void {
      insert.run(id, size === "huge" ? hugeName : "fern");
      id++;
      checkpointer.committed();
    },
    /** Commits that start a checkpoint each, and the end of each checkpoint. */
    async fill(times: number): Promise<void> {
      for (let time = 0; time < times; time++) {
        const before = checkpoints;
        this.commit("huge");
        await eventually(() => checkpoints > before);
      }
    },
    async [Symbol.asyncDispose]() {
      watch.stop();
      thread?.end();
      await checkpointer.close();
      file[Symbol.dispose]();
      watch.closeFiles();
      folder[Symbol.dispose]();
    },
  };
}

const walBytes = (path: string): number => statSync(`${path}-wal`).size;

/** A reader in the middle of a transaction. */
function startReader(path: string): Database {
  const reader = new Database(path, { readonly: true });
  reader.run("BEGIN");
  reader.query("SELECT count(*) FROM plants").get();
  return reader;
}

test("the WAL restarts after each checkpoint, unless a reader has not ended yet", async () => {
  await using store = opened();
  await store.fill(4);
  expect(walBytes(store.path)).toBeLessThan(2 * hugeName.length);
  expect(store.reports).toEqual(Array(4).fill("checkpointed"));
  using reader = startReader(store.path);
  await store.fill(3);
  expect(walBytes(store.path)).toBeGreaterThan(2 * hugeName.length);
  reader.run("COMMIT");
  await store.fill(1);
  const bytes = walBytes(store.path);
  await store.fill(1);
  expect(walBytes(store.path)).toBe(bytes);
  expect(store.reports).not.toContainEqual(expect.stringContaining("failed"));
});

test("a WAL whose length cannot be read is a failed checkpoint, not a failed commit", async () => {
  await using store = opened();
  const database = new Database(store.path);
  const failed: string[] = [];
  const owner = {
    checkpointFailed: ({ message }: Error) => failed.push(message),
    whilePaused: (work: () => Promise<void>) => work(),
  };
  const checkpointer = new Checkpointer(database, store.files, owner, {}, { framesMax, checkEveryMs: 0 });
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
    async answer(answer: string | number = 1): Promise<void> {
      const number = calls.at(-1)?.number ?? 0;
      const data: FromThread =
        typeof answer === "string"
          ? { kind: "error", number, error: { name: "SQLiteError", message: answer, code: answer } }
          : { kind: "result", number, result: answer };
      thread.onmessage({ data });
      // Everything that follows from it is in microtasks.
      await nextTurn();
    },
    end: () => thread.dispatchEvent(new Event("close")),
    [Symbol.dispose]: () => {
      thread.dispatchEvent(new Event("close"));
      globalThis.Worker = RealWorker;
    },
  };
}

describe("a checkpoint thread", () => {
  test("is never asked again after its fsync failed", async () => {
    using thread = cuedThread();
    await using store = opened(thread);
    store.commit("huge");
    expect(thread.calls.map(({ method }) => method)).toEqual(["checkpoint"]);
    await thread.answer("EIO");
    store.commit("huge");
    expect(store.reports).toEqual(["not checkpointed", "A checkpoint failed: SQLiteError: EIO."]);
    expect(thread.calls).toHaveLength(1);
  });

  test("is asked again later if it reports a lock or a full disk", async () => {
    using thread = cuedThread();
    await using store = opened(thread);
    for (const [index, code] of ["SQLITE_BUSY", "SQLITE_BUSY_RECOVERY", "SQLITE_FULL"].entries()) {
      store.commit("huge");
      expect(thread.calls).toHaveLength(index + 1);
      await thread.answer(code);
      expect(store.reports).toEqual(Array(index + 1).fill("not checkpointed"));
      store.commit("small");
      expect(thread.calls).toHaveLength(index + 1);
    }
  });

  // No transaction may begin after a failed fsync: the failure is reported before the pause ends.
  test.each<[string, string | undefined, string[]]>([
    ["a success", undefined, ["resumed", "checkpointed"]],
    [
      "a failed fsync",
      "SQLITE_IOERR_FSYNC",
      ["not checkpointed", "A checkpoint failed: SQLITE_IOERR_FSYNC.", "resumed"],
    ],
  ])("gets a pause of the writer after four rounds, which ends after %s", async (_, code, reports) => {
    using thread = cuedThread();
    await using store = opened(thread);
    store.commit("huge");
    // Frames are left after each round, as if they had been written meanwhile.
    for (let round = 0; round < 4; round++) {
      expect(store.reports).toEqual([]);
      await thread.answer();
    }
    expect(store.reports).toEqual(["paused"]);
    await thread.answer(code);
    expect(store.reports).toEqual(["paused", ...reports]);
    expect(thread.calls).toHaveLength(5);
  });

  test.each([
    ["after as many frames", () => {}],
    [
      "at the usual length if another process has restarted the WAL, since the reader has ended",
      (path: string) => {
        using other = new Database(path);
        other.run("PRAGMA wal_checkpoint(TRUNCATE)");
      },
    ],
  ])("that a reader kept from finishing is asked again %s", async (_, change) => {
    using thread = cuedThread();
    await using store = opened(thread);
    store.commit("huge");
    for (let round = 0; round < 5; round++) await thread.answer();
    change(store.path);
    store.commit("small");
    expect(thread.calls).toHaveLength(5);
    store.commit("huge");
    expect(thread.calls).toHaveLength(6);
  });

  test.each(["idle", "busy"])("that ends while it is %s makes the outcome unknown", async (state) => {
    using thread = cuedThread();
    await using store = opened(thread);
    if (state === "busy") store.commit("huge");
    thread.end();
    expect(store.reports).toEqual(["A checkpoint failed: Error: the thread ended."]);
  });

  test("is not asked, and not reported if it ends, once the files are not those that were opened", async () => {
    using thread = cuedThread();
    await using store = opened(thread);
    store.files.intact = false;
    store.commit("huge");
    expect(thread.calls).toEqual([]);
    thread.end();
    expect(store.reports).toEqual([]);
  });

  test("is not asked once it is stopped", async () => {
    using thread = cuedThread();
    await using store = opened(thread);
    store.commit("huge");
    store.checkpointer.stop();
    store.commit("huge");
    await thread.answer();
    store.commit("huge");
    expect(thread.calls).toHaveLength(1);
  });

  test("that fails while the store is being closed has failed as at any other time", async () => {
    using thread = cuedThread();
    await using store = opened(thread);
    store.commit("huge");
    const closed = store.checkpointer.close();
    await thread.answer("SQLITE_IOERR_FSYNC");
    await closed;
    expect(store.reports).toEqual(["not checkpointed", "A checkpoint failed: SQLITE_IOERR_FSYNC."]);
  });

  /** Why the real thread does not checkpoint a new data file, if its start data differs in this from that file. */
  async function refusalOf(different: { inode?: Inode; data?: number }): Promise<unknown> {
    using folder = temporaryFolder();
    const path = join(folder.path, "plants.db");
    using file = openForWriting(path);
    const watch = new DataFileWatch(path, file.database, () => {});
    watch.stop();
    const startData: CheckpointStartData = {
      path,
      data: different.data ?? watch.files.data,
      inode: different.inode ?? inodeOf(watch.files.data),
    };
    const thread = new Thread<CheckpointCalls>("storage/sqlite/writing/checkpoint-thread", {
      startData,
      keepsProcessAlive: false,
    });
    const reason = await caught(thread.ask("checkpoint"));
    await thread.stop();
    watch.closeFiles();
    return reason;
  }

  test("does not start on a data file that was replaced", async () => {
    const { dev, ino } = statSync(import.meta.path, { bigint: true });
    const reason = await refusalOf({ inode: { dev, ino } });
    expect(String(reason)).toContain("the data file was replaced");
  });

  test("fails where its fsync of the data file fails", async () => {
    // It can be read, but not synced.
    const data = openSync("/dev/null", "r");
    const reason = await refusalOf({ data });
    closeSync(data);
    expect(reason).toMatchObject({ code: "EINVAL" });
  });
});
