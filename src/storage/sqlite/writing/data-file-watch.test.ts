import { Database } from "bun:sqlite";
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import {
  copyFileSync,
  linkSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { temporaryFolder } from "../../../../test/support/temporary-folder.ts";
import type { OutcomeUnknown } from "../../../plants/plant-store.ts";
import { DataFileOverwritten, DataFileReplaced, WalIndexLost } from "../../store.ts";
import { openForWriting } from "../opening/open-for-writing.ts";
import { DataFileWatch } from "./data-file-watch.ts";

let store: ReturnType<typeof openStore>;
beforeEach(() => {
  store = openStore();
});
afterEach(() => store.close());

/** A data file that is open as in the service, a backup and a closed copy of it, and a connection like another process's. */
function openStore() {
  const folder = temporaryFolder();
  const path = join(folder.path, "data", "plants.db");
  const closed = join(folder.path, "closed.db");
  {
    using first = openForWriting(path);
    first.database.run(
      "INSERT INTO plants (id, name, created_at_ms, created_by) VALUES (-1, 'moss', 1, 'test')",
    );
  }
  copyFileSync(path, closed);
  const opener = openForWriting(path);
  const losses: OutcomeUnknown[] = [];
  const watch = new DataFileWatch(path, opener.database, (loss) => losses.push(loss));
  watch.stop();
  const other = new Database(path);
  const insert = opener.database.query(
    "INSERT INTO plants (id, name, created_at_ms, created_by) VALUES (?, ?, 1, 'test')",
  );
  let id = 0;
  const opened = {
    path,
    closed,
    backup: join(folder.path, "backup.db"),
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
  other.run("VACUUM INTO ?", [opened.backup]);
  return opened;
}

function expectIntact(): void {
  expect(store.watch.checkAndReport()).toBe(true);
  expect(store.losses).toEqual([]);
}

function expectLost(type: new (message: string) => OutcomeUnknown): void {
  expect(store.watch.checkAndReport()).toBe(false);
  expect(store.losses).toHaveLength(1);
  expect(store.losses[0]).toBeInstanceOf(type);
}

/** Writes into the file that is there, as cp does. */
function overwrite(bytes: Buffer): void {
  writeFileSync(store.path, bytes);
}

describe("the names", () => {
  test("of a data file or a WAL that leads nowhere, or to another file, are lost", () => {
    for (const ending of ["", "-wal"]) {
      const path = store.path + ending;
      renameSync(path, `${path}.away`);
      expectLost(DataFileReplaced);
      copyFileSync(`${path}.away`, path);
      store.losses.length = 0;
      expectLost(DataFileReplaced);
      rmSync(path);
      linkSync(`${path}.away`, path);
      store.losses.length = 0;
      expectIntact();
    }
  });

  test("of a folder that was deleted, or replaced by a file, are lost", () => {
    const data = dirname(store.path);
    renameSync(data, `${data}-away`);
    expectLost(DataFileReplaced);
    writeFileSync(data, "");
    store.losses.length = 0;
    expectLost(DataFileReplaced);
    rmSync(data);
    renameSync(`${data}-away`, data);
  });

  test("in a folder that cannot be read prove nothing", () => {
    const data = dirname(store.path);
    renameSync(data, `${data}-away`);
    symlinkSync(data, data);
    expectIntact();
    rmSync(data);
    renameSync(`${data}-away`, data);
  });

  test("of the -shm file alone are a loss after which nothing has to be rescued", () => {
    renameSync(`${store.path}-shm`, `${store.path}-shm.away`);
    expectLost(WalIndexLost);
    expect(store.losses[0]).not.toBeInstanceOf(DataFileReplaced);
    renameSync(`${store.path}-shm.away`, `${store.path}-shm`);
  });
});

describe("a data file that another program overwrites", () => {
  test("with a backup, a closed copy, nothing, or half of itself, is noticed", () => {
    store.write(30);
    store.checkpoint("PASSIVE");
    expectIntact();
    const original = readFileSync(store.path);
    const others = {
      backup: readFileSync(store.backup),
      closed: readFileSync(store.closed),
      nothing: Buffer.alloc(0),
      half: original.subarray(0, original.length / 2),
      zeros: Buffer.concat([Buffer.alloc(65_536), original.subarray(65_536)]),
    };
    const unnoticed = Object.entries(others).filter(([, bytes]) => {
      overwrite(bytes);
      store.losses.length = 0;
      const isIntact = store.watch.checkAndReport();
      overwrite(original);
      return isIntact || !(store.losses[0] instanceof DataFileOverwritten);
    });
    expect(unnoticed).toEqual([]);
  });

  test("with a closed copy of the same length is noticed by its mark", () => {
    store.checkpoint("TRUNCATE");
    const { size } = statSync(store.path);
    const closed = readFileSync(store.closed);
    overwrite(Buffer.concat([closed, Buffer.alloc(size - closed.length)]));
    expectLost(DataFileOverwritten);
  });
});

describe("a data file that only SQLite writes to is intact", () => {
  test.each(["PASSIVE", "RESTART", "TRUNCATE"])("while another connection checkpoints with %s", (mode) => {
    // In every fourth round a reader limits the checkpoint.
    using reader = new Database(store.path);
    for (let round = 0; round < 24; round++) {
      const isRead = round % 4 === 0;
      if (isRead) reader.run("BEGIN");
      if (isRead) reader.query("SELECT count(*) FROM plants").get();
      store.write(1 + (round % 3));
      expectIntact();
      if (round % 2 === 0) store.checkpoint(mode);
      expectIntact();
      if (isRead) reader.run("COMMIT");
    }
  });

  test("while another process vacuums it, which makes it shorter", () => {
    store.write(50);
    store.checkpoint("TRUNCATE");
    const before = statSync(store.path).size;
    store.other.run("DELETE FROM plants WHERE id > 5");
    store.other.run("VACUUM");
    expectIntact();
    store.checkpoint("TRUNCATE");
    expect(statSync(store.path).size).toBeLessThan(before);
    expectIntact();
  });

  test("while tables of another program move the page of the mark", () => {
    store.other.run("CREATE TABLE others_own AS SELECT zeroblob(200000) AS bytes");
    store.other.run("VACUUM");
    expectIntact();
    store.checkpoint("TRUNCATE");
    expectIntact();
    store.other.run("DROP TABLE others_own");
    store.other.run("VACUUM");
    store.checkpoint("TRUNCATE");
    expectIntact();
  });

  test("if it cannot be read, as on a disk that fails", () => {
    const { files } = store.watch;
    const { data } = files;
    // Every read of a number that is no open file fails.
    Object.assign(files, { data: 1_000_000 });
    expectIntact();
    Object.assign(files, { data });
  });
});
