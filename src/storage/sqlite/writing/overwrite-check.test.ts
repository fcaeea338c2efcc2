import { Database } from "bun:sqlite";
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import {
  closeSync,
  copyFileSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { OverwriteCheck } from "./data-file-watch.ts";
import { openWriter } from "./open-writer.ts";

let store: ReturnType<typeof openStore>;
beforeEach(() => {
  store = openStore();
});
afterEach(() => store.close());

/** A data file that is open as in the service, a copy of it from its beginning, and a connection like another process's. */
function openStore() {
  const folder = mkdtempSync(join(tmpdir(), "plant-store-"));
  const path = join(folder, "plants.db");
  const { database, lock } = openWriter(path);
  const files = [openSync(path, "r+"), openSync(`${path}-wal`, "r")] as const;
  const check = new OverwriteCheck(path, ...files);
  const other = new Database(path);
  const insert = database.query(
    "INSERT INTO plants (id, name, created_at_ms, created_by) VALUES (?, ?, 1, 'test')",
  );
  let id = 0;
  const opened = {
    path,
    copy: join(folder, "copy.db"),
    check,
    other,
    /** As many transactions, each of some pages. */
    write(transactions: number): void {
      for (let count = 0; count < transactions; count++) insert.run(id++, "fern".repeat(4000));
    },
    checkpoint: (mode: string) => void other.query(`PRAGMA wal_checkpoint(${mode})`).get(),
    close(): void {
      other.close();
      database.close();
      check.close();
      for (const file of files) closeSync(file);
      lock[Symbol.dispose]();
      rmSync(folder, { recursive: true });
    },
  };
  opened.write(5);
  other.run("VACUUM INTO ?", [opened.copy]);
  return opened;
}

describe("is not an overwritten file:", () => {
  for (const mode of ["PASSIVE", "FULL", "RESTART", "TRUNCATE"])
    test(`a ${mode} checkpoint by another connection, at any moment`, () => {
      for (let round = 0; round < 50; round++) {
        store.write(1 + (round % 3));
        expect(store.check.find()).toBeUndefined();
        if (round % 2 === 0) store.checkpoint(mode);
        if (round % 3 === 0) expect(store.check.find()).toBeUndefined();
      }
    });

  test("a checkpoint that a reader limits", () => {
    using reader = new Database(store.path);
    for (let round = 0; round < 20; round++) {
      reader.run("BEGIN");
      reader.query("SELECT count(*) FROM plants").get();
      store.write(3);
      store.checkpoint("PASSIVE");
      expect(store.check.find()).toBeUndefined();
      reader.run("ROLLBACK");
      store.write(1);
      expect(store.check.find()).toBeUndefined();
    }
  });

  test("a write of another connection, and a VACUUM, which makes the file shorter", () => {
    store.write(20);
    store.checkpoint("TRUNCATE");
    expect(store.check.find()).toBeUndefined();
    store.other.run("DELETE FROM plants WHERE id > 3");
    store.other.run("VACUUM");
    expect(store.check.find()).toBeUndefined();
    store.checkpoint("TRUNCATE");
    expect(store.check.find()).toBeUndefined();
    store.write(5);
    expect(store.check.find()).toBeUndefined();
  });
});

describe("is an overwritten file:", () => {
  test("a data file that a backup was copied over", () => {
    store.write(20);
    store.checkpoint("PASSIVE");
    expect(store.check.find()).toBeUndefined();
    copyFileSync(store.copy, store.path);
    expect(store.check.find()).toBe("data");
  });

  test("a data file that a backup was copied over at the moment of a checkpoint", () => {
    store.write(20);
    store.checkpoint("PASSIVE");
    expect(store.check.find()).toBeUndefined();
    store.write(20);
    store.checkpoint("PASSIVE");
    copyFileSync(store.copy, store.path);
    expect(store.check.find()).toBe("data");
  });

  for (const bytes of [0, 50, 4096, 20_000])
    test(`a data file that was truncated to ${bytes} bytes`, () => {
      store.write(20);
      store.checkpoint("PASSIVE");
      expect(store.check.find()).toBeUndefined();
      truncateSync(store.path, bytes);
      expect(store.check.find()).toBe("data");
    });

  for (const bytes of [0, 20, 32, 9000])
    test(`a WAL that was truncated to ${bytes} bytes`, () => {
      store.write(20);
      expect(store.check.find()).toBeUndefined();
      truncateSync(`${store.path}-wal`, bytes);
      expect(store.check.find()).toBe("wal");
    });

  test("a WAL that another one was copied over", () => {
    const earlier = readFileSync(`${store.path}-wal`);
    store.write(20);
    expect(store.check.find()).toBeUndefined();
    writeFileSync(`${store.path}-wal`, earlier);
    expect(store.check.find()).toBe("wal");
  });
});
