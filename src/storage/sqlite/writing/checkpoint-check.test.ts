import { Database } from "bun:sqlite";
import { afterEach, beforeEach, expect, mock, test } from "bun:test";
import { openSync, statSync, truncateSync, writeSync } from "node:fs";
import { join } from "node:path";
import { temporaryFolder } from "../../../../test/support/temporary-folder.ts";
import { CheckpointCheck } from "./checkpoint-check.ts";
import { DataFileWatch } from "./data-file-watch.ts";
import { openForWriting } from "./open-for-writing.ts";

let store: ReturnType<typeof openStore>;
beforeEach(() => {
  store = openStore();
});
afterEach(() => store.close());

/** A data file of some hundred pages, and as many transactions in its WAL. */
function openStore() {
  const folder = temporaryFolder();
  const path = join(folder.path, "plants.db");
  const { database } = openForWriting(path);
  const watch = new DataFileWatch(path, () => {});
  watch.stop();
  const check = new CheckpointCheck(watch.files);
  const insert = database.query(
    "INSERT INTO plants (id, name, created_at_ms, created_by) VALUES (?, ?, 1, 'test')",
  );
  let id = 0;
  const opened = {
    path,
    database,
    before: (dataBytes = statSync(path).size) => check.before(dataBytes),
    around: (checkpoint: () => void) => check.around(statSync(path).size, checkpoint),
    write: database.transaction((plants: number): void => {
      for (let count = 0; count < plants; count++) insert.run(id++, "fern".repeat(1000));
    }),
    checkpoint: () => void database.query("PRAGMA wal_checkpoint(PASSIVE)").get(),
    close(): void {
      // As the service does not: a file that was overwritten cannot be marked as closed.
      database.close();
      watch.closeFiles();
      folder[Symbol.dispose]();
    },
  };
  opened.write(100);
  opened.checkpoint();
  opened.write(100);
  return opened;
}

const frameBytes = 24 + 4096;

/** Writes zeros over as many frames, as a hole would read. */
function zeroFrames(first: number, count: number): void {
  const file = openSync(`${store.path}-wal`, "r+");
  writeSync(file, Buffer.alloc(count * frameBytes), 0, count * frameBytes, 32 + (first - 1) * frameBytes);
}

test("every frame is the WAL's own, checkpointed or not", () => {
  expect(store.around(store.checkpoint)).toBeUndefined();
  expect(store.before()).toBeUndefined();
});

test("a checkpoint of a WAL with a hole does not begin", () => {
  zeroFrames(50, 1);
  const begun = mock(store.checkpoint);
  expect(store.around(begun)).toBe("WAL");
  expect(begun).not.toHaveBeenCalled();
});

test("a checkpoint that fails for a reason of its own fails", () => {
  const failing = (): void => {
    throw new Error("the disk");
  };
  expect(() => store.around(failing)).toThrow("the disk");
});

/** Overwrites bytes in the header of frame 50. */
function changeHeader(at: number, bytes: Buffer): void {
  const file = openSync(`${store.path}-wal`, "r+");
  writeSync(file, bytes, 0, bytes.length, 32 + 49 * frameBytes + at);
}

const shorten = () => truncateSync(`${store.path}-wal`, 32 + 50 * frameBytes);

test.each<[what: string, harm: () => void]>([
  ["with a hole at its first frame", () => zeroFrames(1, 1)],
  ["with a hole at its last frame but one", () => zeroFrames(99, 1)],
  ["with a frame of another page", () => changeHeader(0, Buffer.from([255]))],
  ["with a frame of another WAL", () => changeHeader(8, Buffer.alloc(8))],
  ["that was shortened", shorten],
  [
    "that was shortened before more was appended",
    () => {
      shorten();
      store.write(1);
    },
  ],
])("a WAL %s is noticed", (_, harm) => {
  harm();
  expect(store.before()).toBe("WAL");
});

// The index has the page numbers of the first 4,062 frames in its first block.
test.each([4062, 4063])("a hole at frame %d of a long WAL is noticed", (frame) => {
  store.write(5000);
  expect(store.before()).toBeUndefined();
  zeroFrames(frame, 1);
  expect(store.before()).toBe("WAL");
});

test("a hole in frames that the data file has, or that later ones of their page replace, is not looked at", () => {
  store.database.run("UPDATE plants SET created_by = 'first' WHERE seq = 100");
  const replaced = statSync(`${store.path}-wal`).size;
  store.database.run("UPDATE plants SET created_by = 'later' WHERE seq = 100");
  zeroFrames((replaced - 32) / frameBytes, 1);
  expect(store.before()).toBeUndefined();
  store.checkpoint();
  zeroFrames(50, 1);
  // The reader keeps the WAL from restarting, so these frames come after the hole.
  using reader = new Database(store.path, { readonly: true });
  reader.run("BEGIN");
  reader.query("SELECT count(*) FROM plants").get();
  store.write(10);
  expect(store.before()).toBeUndefined();
});

test("a WAL that another process checkpointed and restarted is not an overwritten one", () => {
  using other = new Database(store.path);
  const bytes = statSync(store.path).size;
  other.query("PRAGMA wal_checkpoint(RESTART)").get();
  expect(store.before(bytes)).toBeUndefined();
  store.write(3);
  expect(store.before(bytes)).toBeUndefined();
});

test("a data file that was truncated after the checkpoint, or before the next check, is noticed", () => {
  const bytes = statSync(store.path).size;
  const overwritten = store.around(() => {
    store.checkpoint();
    truncateSync(store.path, 40_960);
  });
  expect(overwritten).toBe("data file");
  expect(store.before(bytes)).toBe("data file");
});

test.each([
  ["leaves its last pages alone", () => {}],
  [
    "writes its last pages again",
    () => void store.database.run("UPDATE plants SET name = upper(name) WHERE seq BETWEEN 98 AND 100"),
  ],
])(
  "a data file is truncated just before a checkpoint that %s: that is noticed, although it is as long as before",
  (_, change) => {
    change();
    const bytes = statSync(store.path).size;
    const lengths: number[] = [];
    const overwritten = store.around(() => {
      truncateSync(store.path, bytes - 5 * 4096);
      store.checkpoint();
      lengths.push(statSync(store.path).size);
    });
    expect(overwritten).toBe("data file");
    expect(lengths[0]).toBeGreaterThan(bytes);
  },
);

test("a data file that was truncated so much that SQLite notices is not taken for a damaged one", () => {
  const overwritten = store.around(() => {
    truncateSync(store.path, 40_960);
    expect(store.checkpoint).toThrow("malformed");
    store.checkpoint();
  });
  expect(overwritten).toBe("data file");
});

test("a data file that a VACUUM made shorter is not a truncated one", () => {
  store.checkpoint();
  const bytes = statSync(store.path).size;
  store.database.run("DELETE FROM plants WHERE id > 20");
  store.database.run("VACUUM");
  expect(store.around(store.checkpoint)).toBeUndefined();
  expect(statSync(store.path).size).toBeLessThan(bytes);
  expect(store.before(bytes)).toBeUndefined();
});
