import { Database } from "bun:sqlite";
import { expect, mock, test } from "bun:test";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { caught } from "../../../../test/support/caught.ts";
import { advancedClock, stoppedClock } from "../../../../test/support/clock.ts";
import { temporaryFolder } from "../../../../test/support/temporary-folder.ts";
import { OutcomeUnknown, StoreUnavailable } from "../../../plants/plant-store.ts";
import { minuteMs } from "../../../text/duration.ts";
import { openForWriting } from "../opening/open-for-writing.ts";
import { Writer, type WriterOwner } from "./writer.ts";

/** A writer on a new data file. */
function openedWriter(owner: Partial<WriterOwner> = {}, walSync?: { sync(): Promise<void> | undefined }) {
  const folder = temporaryFolder();
  const path = join(folder.path, "plants.db");
  const file = openForWriting(path);
  const { database } = file;
  const writer = new Writer(
    database,
    { afterCommit: () => {}, reportUnknown: (reason) => reason, ...owner },
    walSync,
  );
  return {
    path,
    database,
    writer,
    [Symbol.dispose]() {
      if (database.inTransaction) database.run("ROLLBACK");
      file[Symbol.dispose]();
      folder[Symbol.dispose]();
    },
  };
}

/** The same with fsyncs that end when the test says so. */
function cuedWriter() {
  const syncs: PromiseWithResolvers<void>[] = [];
  const syncTimesMs: number[] = [];
  const sync = () => {
    syncs.push(Promise.withResolvers<void>());
    return syncs.at(-1)?.promise;
  };
  const opened = openedWriter({ afterCommit: (syncMs) => void syncTimesMs.push(syncMs) }, { sync });
  return { ...opened, syncs, syncTimesMs, committed: () => syncTimesMs.length };
}

/** A writer, another connection to take the write lock, and a clock that the test can advance. */
function contendedWriter() {
  const stack = new DisposableStack();
  const { path, writer } = stack.use(openedWriter());
  const other = stack.use(new Database(path));
  const { advance } = stack.use(advancedClock());
  // A transaction makes its first attempt when it is called: it has found the lock by the next line.
  const store = () => caught(writer.transaction(() => "stored"));
  return {
    other,
    store,
    advance,
    /** A transaction that finds the lock, which is then released. */
    async storeAfterLock(): Promise<unknown> {
      other.run("BEGIN IMMEDIATE");
      const stored = store();
      other.run("ROLLBACK");
      return stored;
    },
    /** Three transactions that find the lock over five seconds. */
    async storeDespiteLock(): Promise<unknown[]> {
      other.run("BEGIN IMMEDIATE");
      const refused: Promise<unknown>[] = [];
      // In steps: after five seconds without an attempt it would be another lock.
      for (const stepMs of [0, 2500, 2500]) {
        advance(stepMs);
        refused.push(store());
      }
      const outcomes = await Promise.all(refused);
      other.run("ROLLBACK");
      return outcomes;
    },
    [Symbol.dispose]: () => stack[Symbol.dispose](),
  };
}

test("a transaction waits for another process's write lock, however long ago the last wait was", async () => {
  using writer = contendedWriter();
  for (const pauseMs of [3000, 3000, minuteMs]) {
    expect(await writer.storeAfterLock()).toBe("stored");
    writer.advance(pauseMs);
  }
});

test("a write lock of five seconds refuses all that wait for it, and the next one is waited for again", async () => {
  using writer = contendedWriter();
  const outcomes = await writer.storeDespiteLock();
  expect(outcomes).toHaveLength(3);
  for (const outcome of outcomes) expect(outcome).toBeInstanceOf(StoreUnavailable);
  writer.advance(minuteMs);
  expect(await writer.storeAfterLock()).toBe("stored");
});

test("a failure that is neither a lock nor a full disk is thrown as the owner reports it, and rolls nothing back", async () => {
  const reported = new OutcomeUnknown("with the marker that could not be written");
  const fail = () => {
    throw Object.assign(new Error("failed"), { code: "SQLITE_IOERR_WRITE" });
  };
  using database = new Database(":memory:");
  const writer = new Writer(database, { afterCommit: () => {}, reportUnknown: () => reported });
  const rolledBack = mock();
  await expect(writer.transaction(fail, rolledBack)).rejects.toBe(reported);
  expect(rolledBack).not.toHaveBeenCalled();
});

test("a transaction for which there is no room is rolled back, and one after it stored once there is", async () => {
  using store = openedWriter();
  const { database, writer } = store;
  // Of several rows, so that SQLite rolls back only the statement and leaves the transaction open.
  const insert = () =>
    database.run(
      "INSERT INTO plants (id, name, created_at_ms, created_by) VALUES (1, 'fern', 1, 'test'), (2, ?, 1, 'test')",
      ["x".repeat(100_000)],
    );
  const rolledBack = mock();
  // SQLite reports a full disk for this limit too.
  database.run("PRAGMA max_page_count = 1");
  await expect(writer.transaction(insert, rolledBack)).rejects.toBeInstanceOf(StoreUnavailable);
  expect(rolledBack).toHaveBeenCalledTimes(1);
  expect(database.inTransaction).toBe(false);
  database.run("PRAGMA max_page_count = 1000000");
  expect((await writer.transaction(insert)).changes).toBe(2);
});

test("a transaction, and a reader of it, wait for the fsync after its commit, as the next transaction does", async () => {
  using store = cuedWriter();
  const { writer, syncs } = store;
  const done: string[] = [];
  const run = (name: string) => writer.transaction(() => void done.push(name));
  const first = run("first");
  const read = writer.synced().then(() => done.push("read"));
  const second = run("second");
  await nextTurn();
  expect(done).toEqual(["first"]);
  expect(syncs).toHaveLength(1);
  expect(store.committed()).toBe(0);
  syncs[0]?.resolve();
  await Promise.all([first, read]);
  await nextTurn();
  expect(done.sort()).toEqual(["first", "read", "second"]);
  expect(syncs).toHaveLength(2);
  expect(store.committed()).toBe(1);
  syncs[1]?.resolve();
  await second;
});

test("the owner is told how long each fsync took, without the wait of the next transaction for it", async () => {
  using store = cuedWriter();
  using clock = stoppedClock();
  const { writer, syncs } = store;
  const first = writer.transaction(() => {});
  const second = writer.transaction(() => {});
  await nextTurn();
  clock.nowMs += 100;
  syncs[0]?.resolve();
  await first;
  await nextTurn();
  clock.nowMs += 7;
  syncs[1]?.resolve();
  await second;
  expect(store.syncTimesMs).toEqual([100, 7]);
});

test("an fsync that fails leaves the outcome of its transaction unknown", async () => {
  using store = cuedWriter();
  const stored = store.writer.transaction(() => {});
  await nextTurn();
  store.syncs[0]?.reject(Object.assign(new Error("EIO: i/o error, fdatasync"), { code: "EIO" }));
  await expect(stored).rejects.toBeInstanceOf(OutcomeUnknown);
});

test("no transaction is acknowledged where the store failed during its fsync", async () => {
  using store = cuedWriter();
  const stored = caught(store.writer.transaction(() => "stored"));
  const reason = new OutcomeUnknown("a checkpoint failed");
  store.writer.stop(reason);
  store.syncs[0]?.resolve();
  expect(await stored).toBe(reason);
  expect(store.committed()).toBe(0);
});

test("no transaction begins, and no reader is answered, after the store failed", async () => {
  using store = cuedWriter();
  const reason = new OutcomeUnknown("a checkpoint failed");
  store.writer.stop(reason);
  await expect(store.writer.transaction(() => "stored")).rejects.toBe(reason);
  await expect(store.writer.synced()).rejects.toBeInstanceOf(StoreUnavailable);
  expect(store.syncs).toHaveLength(0);
});

test("a writer is closed after the fsync in progress, of which its owner is told before, and begins no other", async () => {
  using store = cuedWriter();
  const { writer, syncs } = store;
  const stored = writer.transaction(() => "stored");
  const closed = writer.close().then(() => store.committed());
  await nextTurn();
  expect(store.committed()).toBe(0);
  syncs[0]?.resolve();
  expect(await closed).toBe(1);
  expect(await stored).toBe("stored");
  await expect(writer.transaction(() => "stored")).rejects.toBeInstanceOf(StoreUnavailable);
});

test("no transaction begins during a pause, and all do after it, even if it failed", async () => {
  using store = openedWriter();
  const { writer } = store;
  const failure = new Error("the thread is gone");
  const pause = Promise.withResolvers<void>();
  const paused = caught(writer.whilePaused(() => pause.promise));
  const ran = mock();
  const waiting = writer.transaction(ran);
  // Without the pause it would have run already.
  await nextTurn();
  expect(ran).not.toHaveBeenCalled();
  pause.reject(failure);
  expect(await paused).toBe(failure);
  await waiting;
  expect(ran).toHaveBeenCalledTimes(1);
});
