import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { eventually } from "../../../../test/harness.ts";
import { type FromThread, Thread, type ToThread } from "../thread.ts";
import { type CheckpointCalls, Checkpointer, type CheckpointSetting } from "./checkpointer.ts";
import { DataFileWatch } from "./data-file-watch.ts";
import { openWriter } from "./open-writer.ts";

// One plant that is large enough to start a checkpoint.
const hugeName = "x".repeat(17_000_000);

/** A data file with its checkpointer, and ways to fill the WAL. */
function opened(walBytesWarn: number) {
  const folder = mkdtempSync(join(tmpdir(), "plant-store-"));
  const path = join(folder, "plants.db");
  const { database, lock } = openWriter(path);
  const watch = new DataFileWatch(path, () => {});
  const grown: number[] = [];
  const failed: string[] = [];
  const checkpoints: boolean[] = [];
  const paused: string[] = [];
  const files = { intact: true };
  const checkpointer = new Checkpointer(
    database,
    path,
    watch.data,
    {
      failed: ({ message }) => failed.push(message),
      walGrown: (bytes) => grown.push(bytes),
      synced: () => {},
      checkpointed: (succeeded) => checkpoints.push(succeeded),
      async whilePaused(work) {
        paused.push("begin");
        await work();
        paused.push(failed.length === 0 ? "end" : "end after a failure");
      },
      filesAreIntact: () => files.intact,
    },
    walBytesWarn,
  );
  let id = 0;
  const insert = database.query(
    "INSERT INTO plants (id, name, created_at_ms, created_by) VALUES (?, ?, 1, 'test')",
  );
  return {
    database,
    path,
    grown,
    failed,
    checkpoints,
    paused,
    files,
    checkpointer,
    /** One commit, large enough for a checkpoint or not. */
    commit(size: "huge" | "small"): void {
      insert.run(id++, size === "huge" ? hugeName : "fern");
      checkpointer.committed();
    },
    checkpointed: () =>
      database.query<{ checkpointed: bigint }, []>("PRAGMA wal_checkpoint(NOOP)").get()?.checkpointed,
    /** One commit that starts a checkpoint, and the end of that. */
    async fill(): Promise<void> {
      const before = checkpoints.length;
      this.commit("huge");
      await eventually(() => checkpoints.length > before);
    },
    async [Symbol.asyncDispose]() {
      watch.stop();
      await checkpointer.stop(10_000);
      database.close();
      watch.closeFiles();
      lock[Symbol.dispose]();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

describe("the WAL", () => {
  test("restarts when it has been checkpointed, so that it does not grow", async () => {
    await using store = opened(1_000_000_000);
    for (let plants = 0; plants < 4; plants++) await store.fill();
    expect(statSync(`${store.path}-wal`).size).toBeLessThan(2 * hugeName.length);
    expect(store).toMatchObject({ grown: [], failed: [] });
  });

  test("that grows because of a reader in another process is reported once, and again after it has shrunk", async () => {
    await using store = opened(8_000_000);
    using reader = new Database(store.path, { readonly: true });
    for (const times of [1, 2]) {
      reader.run("BEGIN");
      reader.query("SELECT count(*) FROM plants").get();
      await store.fill();
      await store.fill();
      expect(store.grown).toHaveLength(times);
      expect(store.grown.at(-1)).toBeGreaterThan(8_000_000);
      reader.run("COMMIT");
      // Checkpoints all of it; the next commit restarts the WAL.
      await store.fill();
      store.commit("small");
    }
    expect(store.failed).toEqual([]);
  });
});

/** A checkpoint thread that answers on cue; it simulates one whose disk fails, or that dies. */
function cuedThread() {
  const RealWorker = globalThis.Worker;
  const calls: (ToThread & { kind: "call" })[] = [];
  const thread = Object.assign(new EventTarget(), {
    onmessage: (_event: { data: FromThread }) => {},
    postMessage: (message: ToThread) => void (message.kind === "call" && calls.push(message)),
  });
  globalThis.Worker = function started() {
    return thread;
  } as unknown as typeof Worker;
  return {
    calls,
    /** Answers the call with that index, with the failure if there is one. */
    async answer(index: number, code?: string, message = ""): Promise<void> {
      const number = calls[index]?.number ?? 0;
      const error = { name: "SQLiteError", message, code };
      thread.onmessage({
        data: code ? { kind: "error", number, error } : { kind: "result", number, result: undefined },
      });
      await Bun.sleep(0);
    },
    end: () => thread.dispatchEvent(new Event("close")),
    [Symbol.dispose]: () => {
      globalThis.Worker = RealWorker;
    },
  };
}

test("a checkpoint of the writer that fails is reported", async () => {
  using thread = cuedThread();
  await using store = opened(1_000_000_000);
  thread.end();
  store.database.close();
  for (let commits = 0; commits < 64; commits++) store.checkpointer.committed();
  expect(store.failed).toEqual([expect.stringMatching(/^A checkpoint failed: /)]);
});

describe("a checkpoint thread", () => {
  test("that reports a failure is never asked again", async () => {
    using thread = cuedThread();
    await using store = opened(1_000_000_000);
    store.commit("huge");
    expect(thread.calls.map(({ method }) => method)).toEqual(["checkpoint"]);
    await thread.answer(0, "SQLITE_IOERR_FSYNC", "disk I/O error");
    store.commit("huge");
    expect(store.failed).toEqual(["A checkpoint failed: SQLITE_IOERR_FSYNC."]);
    expect(store.checkpoints).toEqual([false]);
    expect(thread.calls).toHaveLength(1);
    thread.end();
  });

  test("whose own fsync fails has failed", async () => {
    using thread = cuedThread();
    await using store = opened(1_000_000_000);
    store.commit("huge");
    await thread.answer(0, "EIO", "EIO: i/o error, fdatasync");
    expect(store.failed).toEqual([expect.stringContaining("EIO: i/o error, fdatasync")]);
    thread.end();
  });

  for (const code of ["SQLITE_BUSY", "SQLITE_BUSY_RECOVERY", "SQLITE_FULL"]) {
    test(`that reports ${code} has not failed, and is asked again later`, async () => {
      using thread = cuedThread();
      await using store = opened(1_000_000_000);
      store.commit("huge");
      await thread.answer(0, code, code);
      store.commit("huge");
      store.commit("huge");
      expect(store.failed).toEqual([]);
      // The thread's, which failed, and then the writer's own.
      expect(store.checkpoints).toEqual([false, true]);
      expect(thread.calls).toHaveLength(2);
      thread.end();
    });
  }

  test("whose writer does not stop writing gets a pause for the rest", async () => {
    using thread = cuedThread();
    await using store = opened(1_000_000_000);
    store.commit("huge");
    // Frames are left after each round, as if they had been written meanwhile.
    for (const round of [0, 1, 2, 3]) {
      expect(store.paused).toEqual([]);
      await thread.answer(round);
    }
    expect(store.paused).toEqual(["begin"]);
    expect(store.checkpoints).toEqual([]);
    await thread.answer(4);
    expect(store.paused).toEqual(["begin", "end"]);
    expect(store.checkpoints).toEqual([true]);
    expect(thread.calls).toHaveLength(5);
    thread.end();
  });

  test("that a reader kept from finishing is asked again after as many frames, or when the WAL has restarted", async () => {
    using thread = cuedThread();
    await using store = opened(1_000_000_000);
    store.commit("huge");
    for (const round of [0, 1, 2, 3, 4]) await thread.answer(round);
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

  test("that fails during a pause has failed before the pause ends", async () => {
    using thread = cuedThread();
    await using store = opened(1_000_000_000);
    store.commit("huge");
    for (const round of [0, 1, 2, 3]) await thread.answer(round);
    await thread.answer(4, "SQLITE_IOERR_FSYNC", "disk I/O error");
    expect(store.failed).toEqual(["A checkpoint failed: SQLITE_IOERR_FSYNC."]);
    expect(store.paused).toEqual(["begin", "end after a failure"]);
    thread.end();
  });

  test("that ends leaves its work to the writer", async () => {
    using thread = cuedThread();
    await using store = opened(1_000_000_000);
    store.commit("huge");
    thread.end();
    expect(store.checkpointed()).toBe(0n);
    for (let commits = 0; commits < 64; commits++) store.commit("small");
    expect(store.checkpointed()).toBeGreaterThan(4000n);
    expect(store.failed).toEqual([]);
  });

  test("is not asked when the files are not the ones that were opened", async () => {
    using thread = cuedThread();
    await using store = opened(1_000_000_000);
    store.files.intact = false;
    store.commit("huge");
    expect(thread.calls).toEqual([]);
    expect(store.checkpointed()).toBe(0n);
    thread.end();
  });

  test("that fails while the store is being closed has failed as at any other time", async () => {
    using thread = cuedThread();
    await using store = opened(1_000_000_000);
    store.commit("huge");
    const stopped = store.checkpointer.stop(60_000);
    await thread.answer(0, "SQLITE_IOERR_FSYNC", "disk I/O error");
    await stopped;
    expect(store.failed).toEqual(["A checkpoint failed: SQLITE_IOERR_FSYNC."]);
    thread.end();
  });

  test("that does not end in time when the store is closed has an unknown outcome", async () => {
    using thread = cuedThread();
    await using store = opened(1_000_000_000);
    store.commit("huge");
    await store.checkpointer.stop(1);
    expect(store.failed).toEqual(["A checkpoint failed: it did not end in 0.001 s."]);
    thread.end();
  });

  test("that is halted is asked for no further checkpoint, nor is the writer", async () => {
    using thread = cuedThread();
    await using store = opened(1_000_000_000);
    store.commit("huge");
    store.checkpointer.halt();
    store.commit("huge");
    await thread.answer(0);
    store.commit("huge");
    expect(thread.calls.map(({ method }) => method)).toEqual(["checkpoint"]);
    expect(store.checkpointed()).toBe(0n);
    thread.end();
  });
});

/** The thread itself, on a new data file. */
function startThread(change: (setting: CheckpointSetting) => Partial<CheckpointSetting>) {
  const folder = mkdtempSync(join(tmpdir(), "plant-store-"));
  const path = join(folder, "plants.db");
  const { database, lock } = openWriter(path);
  const setting = { path, file: -1, inode: statSync(path, { bigint: true }).ino };
  const thread = new Thread<CheckpointCalls>("storage/sqlite/writing/checkpoint-thread", {
    setting: { ...setting, ...change(setting) },
    keepsProcessAlive: false,
  });
  return {
    thread,
    async [Symbol.asyncDispose]() {
      await thread.stop();
      database.close();
      lock[Symbol.dispose]();
      rmSync(folder, { recursive: true });
    },
  };
}

test("the thread does not start on a data file that was replaced", async () => {
  await using started = startThread(({ inode }) => ({ inode: inode + 1n }));
  const reason = await started.thread.ask("checkpoint").catch((error: Error) => error);
  expect(String(reason)).toContain("the data file was replaced");
});

test("the thread's checkpoint fails where its fsync of the data file does", async () => {
  // No open file has this descriptor.
  await using started = startThread(() => ({ file: 1_000_000 }));
  const reason = await started.thread.ask("checkpoint").catch((error: Error) => error);
  expect(reason).toMatchObject({ code: "EBADF" });
});
