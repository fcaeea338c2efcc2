import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Checkpointer } from "./checkpointer.ts";
import { DataFileWatch } from "./data-file-watch.ts";
import { openWriter } from "./open-writer.ts";

const largeName = "x".repeat(60_000);

/** A data file with its checkpointer, and a way to write as much as makes it work. */
function opened(walBytesWarn: number) {
  const folder = mkdtempSync(join(tmpdir(), "plant-store-"));
  const path = join(folder, "plants.db");
  const { database, lock } = openWriter(path);
  const watch = new DataFileWatch(path, () => {});
  const grown: number[] = [];
  const failed: string[] = [];
  const checkpointer = new Checkpointer(
    database,
    path,
    watch.data,
    { failed: ({ message }) => failed.push(message), walGrown: (bytes) => grown.push(bytes) },
    walBytesWarn,
  );
  let id = 0;
  const insert = database.query(
    "INSERT INTO plants (id, name, created_at_ms, created_by) VALUES (?, ?, 1, 'test')",
  );
  return {
    path,
    grown,
    failed,
    async write(plants: number): Promise<void> {
      for (let count = 0; count < plants; count++) {
        insert.run(id++, largeName);
        checkpointer.committed();
        if (count % 20 === 0) await Bun.sleep(1);
      }
      await Bun.sleep(200);
    },
    async [Symbol.asyncDispose]() {
      watch.stop();
      await checkpointer.end();
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
    await store.write(1500);
    expect(statSync(`${store.path}-wal`).size).toBeLessThan(50_000_000);
    expect(store).toMatchObject({ grown: [], failed: [] });
  });

  test("that a reader in another process makes grow is reported once, and again after it has shrunk", async () => {
    await using store = opened(8_000_000);
    using reader = new Database(store.path, { readonly: true });
    reader.run("BEGIN");
    reader.query("SELECT count(*) FROM plants").get();
    await store.write(1000);
    expect(store.grown).toHaveLength(1);
    expect(store.grown[0]).toBeGreaterThan(8_000_000);
    reader.run("COMMIT");
    await store.write(600);
    reader.run("BEGIN");
    reader.query("SELECT count(*) FROM plants").get();
    await store.write(1000);
    expect(store.grown).toHaveLength(2);
    expect(store.failed).toEqual([]);
  });
});
