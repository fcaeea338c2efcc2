import { Database } from "bun:sqlite";
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import {
  closeSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DataFileWatch, OverwriteCheck } from "./data-file-watch.ts";
import { openWriter } from "./open-writer.ts";

/** A data file and its WAL, checked only on demand. */
function watched() {
  const folder = mkdtempSync(join(tmpdir(), "plant-store-watch-"));
  const data = join(folder, "data");
  mkdirSync(data);
  const path = join(data, "plants.db");
  writeFileSync(path, "");
  writeFileSync(`${path}-wal`, "");
  writeFileSync(`${path}-shm`, "");
  const lost: string[] = [];
  const watch = new DataFileWatch(path, ({ file, how }) => lost.push(`${file} ${how}`));
  watch.stop();
  return {
    data,
    path,
    lost,
    check: () => watch.check(),
    commands: () => watch.copyCommands(),
    [Symbol.dispose]() {
      watch.closeFiles();
      rmSync(folder, { recursive: true });
    },
  };
}

for (const [file, end] of [
  ["data", ""],
  ["wal", "-wal"],
] as const) {
  for (const how of ["deleted", "replaced"]) {
    test(`the ${file} file is reported when it was ${how}`, async () => {
      using files = watched();
      expect([await files.check(), files.lost]).toEqual([true, []]);
      if (how === "deleted") rmSync(files.path + end);
      else {
        writeFileSync(`${files.path}-other`, "");
        renameSync(`${files.path}-other`, files.path + end);
      }
      expect([await files.check(), files.lost]).toEqual([false, [`${file} replaced`]]);
    });
  }
}

test("a folder that cannot be read proves nothing about the file; one that was deleted or replaced by a file does", async () => {
  using files = watched();
  const away = `${files.data}-away`;
  renameSync(files.data, away);
  symlinkSync(files.data, files.data);
  expect([await files.check(), files.lost]).toEqual([true, []]);
  rmSync(files.data);
  expect(await files.check()).toBe(false);
  writeFileSync(files.data, "");
  expect(await files.check()).toBe(false);
});

test.skipIf(process.platform !== "linux")(
  "both files are copied by its commands, after they were deleted",
  () => {
    using files = watched();
    writeFileSync(files.path, "data");
    writeFileSync(`${files.path}-wal`, "frames");
    rmSync(files.path);
    rmSync(`${files.path}-wal`);
    expect(spawnSync("sh", ["-c", files.commands() ?? ""]).status).toBe(0);
    const copies = readdirSync(files.data)
      .filter((name) => name.includes(".rescued-"))
      .sort();
    expect(copies.map((name) => readFileSync(join(files.data, name), "utf8"))).toEqual(["data", "frames"]);
    expect(copies).toEqual([expect.stringMatching(/^plants\.db\.rescued-/), `${copies[0]}-wal`]);
  },
);

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
  test.each(["PASSIVE", "RESTART", "TRUNCATE"])(
    "a %s checkpoint by another connection, at any moment",
    (mode) => {
      for (let round = 0; round < 24; round++) {
        store.write(1 + (round % 3));
        expect(store.check.find()).toBeUndefined();
        if (round % 2 === 0) store.checkpoint(mode);
        if (round % 3 === 0) expect(store.check.find()).toBeUndefined();
      }
    },
  );

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
  const copyBackup = () => copyFileSync(store.copy, store.path);
  test.each([
    ["a data file that a backup was copied over", copyBackup],
    [
      "a data file that a backup was copied over at the moment of a checkpoint",
      () => {
        store.write(20);
        store.checkpoint("PASSIVE");
        copyBackup();
      },
    ],
    ...[0, 50, 4096, 20_000].map(
      (bytes) =>
        [`a data file that was truncated to ${bytes} bytes`, () => truncateSync(store.path, bytes)] as const,
    ),
  ])("%s", (_, overwrite) => {
    store.write(20);
    store.checkpoint("PASSIVE");
    expect(store.check.find()).toBeUndefined();
    overwrite();
    expect(store.check.find()).toBe("data");
  });

  test.each([0, 20, 32, 9000])("a WAL that was truncated to %d bytes", (bytes) => {
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
