import { Database } from "bun:sqlite";
import { afterEach, beforeEach, expect, test } from "bun:test";
import { copyFileSync, renameSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { temporaryFolder } from "../../../../test/support/temporary-folder.ts";
import { DataFileWatch } from "./data-file-watch.ts";
import { openForWriting } from "./open-for-writing.ts";

let store: ReturnType<typeof openStore>;
beforeEach(() => {
  store = openStore();
});
afterEach(() => store.close());

/** A data file that is open as in the service, a copy of it from its beginning, and a connection like another process's. */
function openStore() {
  const folder = temporaryFolder();
  const path = join(folder.path, "data", "plants.db");
  const opener = openForWriting(path);
  const losses: string[] = [];
  const watch = new DataFileWatch(path, ({ message }) => losses.push(message));
  watch.stop();
  const other = new Database(path);
  const insert = opener.database.query(
    "INSERT INTO plants (id, name, created_at_ms, created_by) VALUES (?, ?, 1, 'test')",
  );
  let id = 0;
  const opened = {
    path,
    copy: join(folder.path, "copy.db"),
    walCopy: join(folder.path, "copy.db-wal"),
    watch,
    losses,
    other,
    /** As many transactions, each of some pages. */
    write(transactions: number): void {
      for (let count = 0; count < transactions; count++) {
        insert.run(id, "fern".repeat(4000));
        id++;
      }
    },
    checkpoint: (mode: string) => void other.query(`PRAGMA wal_checkpoint(${mode})`).get(),
    close(): void {
      other.close();
      // As the service does not: a file that was overwritten cannot be marked as closed.
      opener.database.close();
      watch.closeFiles();
      folder[Symbol.dispose]();
    },
  };
  opened.write(5);
  other.run("VACUUM INTO ?", [opened.copy]);
  copyFileSync(`${path}-wal`, opened.walCopy);
  return opened;
}

function expectIntact(): void {
  expect(store.watch.checkAndReport()).toBe(true);
  expect(store.losses).toEqual([]);
}

// test/sqlite/lost-files.test.ts loses both files in every other way.
test("a folder that cannot be read proves nothing about the file", () => {
  const data = dirname(store.path);
  renameSync(data, `${data}-away`);
  symlinkSync(data, data);
  expectIntact();
});

test.each(["data", "wal", "shm"] as const)(
  "a %s file that cannot be read proves nothing about it, but must not be closed",
  async (name) => {
    const handle = store.watch.files[name];
    // Every read of a number that is no open file fails, as one of a failing disk does.
    using cleanUp = new DisposableStack();
    cleanUp.defer(() => Object.assign(store.watch.files, { [name]: handle }));
    Object.assign(store.watch.files, { [name]: 1_000_000 });
    expectIntact();
    await store.watch.checkBeforeClose();
    expect(store.losses).toEqual([
      expect.stringMatching(/^The files could not be checked before the last checkpoint: EBADF/),
    ]);
  },
);

test.each([
  ["deleted", () => {}],
  ["replaced by a file", (data: string) => writeFileSync(data, "")],
])("the file is lost if its folder was %s", (_, replace) => {
  const data = dirname(store.path);
  renameSync(data, `${data}-away`);
  replace(data);
  expect(store.watch.checkAndReport()).toBe(false);
  expect(store.losses).toEqual(["The data file was deleted or replaced while it was open."]);
});

test.each(["PASSIVE", "RESTART", "TRUNCATE"])(
  "a file that another connection checkpoints with %s does not count as overwritten",
  (mode) => {
    // In every fourth round a reader limits the checkpoint.
    using reader = new Database(store.path);
    for (let round = 0; round < 24; round++) {
      const isRead = round % 4 === 0;
      if (isRead) reader.run("BEGIN");
      if (isRead) reader.query("SELECT count(*) FROM plants").get();
      store.write(1 + (round % 3));
      expectIntact();
      if (round % 2 === 0) store.checkpoint(mode);
      if (round % 3 === 0) expectIntact();
      if (isRead) reader.run("ROLLBACK");
    }
  },
);

test("a data file in which another connection writes, or that its VACUUM makes shorter, does not count as overwritten", () => {
  store.write(20);
  store.checkpoint("TRUNCATE");
  expectIntact();
  store.other.run("DELETE FROM plants WHERE id > 3");
  expectIntact();
  store.checkpoint("TRUNCATE");
  expectIntact();
  store.other.run("VACUUM");
  expectIntact();
  store.checkpoint("TRUNCATE");
  expectIntact();
  store.write(5);
  expectIntact();
});

test.each([
  ["a data file that a backup was copied over", "data file", () => copyFileSync(store.copy, store.path)],
  [
    "a data file that a backup was copied over at the moment of a checkpoint",
    "data file",
    () => {
      store.write(20);
      store.checkpoint("PASSIVE");
      copyFileSync(store.copy, store.path);
    },
  ],
  [
    "a data file that was truncated after a checkpoint changed its header",
    "data file",
    () => {
      store.write(20);
      store.checkpoint("PASSIVE");
      truncateSync(store.path, 20_000);
    },
  ],
  ["a data file that was truncated within its header", "data file", () => truncateSync(store.path, 50)],
  ["a data file that was truncated after its header", "data file", () => truncateSync(store.path, 20_000)],
  ["a WAL that was truncated between frames", "WAL", () => truncateSync(`${store.path}-wal`, 9000)],
  [
    "a WAL that an earlier one was copied over",
    "WAL",
    () => copyFileSync(store.walCopy, `${store.path}-wal`),
  ],
] as const)("%s counts as overwritten", (_, file, overwrite) => {
  store.write(20);
  store.checkpoint("PASSIVE");
  store.write(1);
  expectIntact();
  overwrite();
  expect(store.watch.checkAndReport()).toBe(false);
  expect(store.losses).toEqual([`The ${file} was overwritten while it was open.`]);
});
