import { Database } from "bun:sqlite";
import { expect, spyOn, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { StoreUnavailable } from "../../plants/plant-store.ts";
import { openWriter } from "./open-writer.ts";
import { Writer } from "./writer.ts";

test("each wait for another process's write lock has its five seconds, however long ago the one before was", async () => {
  const folder = mkdtempSync(join(tmpdir(), "plant-store-"));
  const path = join(folder, "plants.db");
  const { database, lock } = openWriter(path);
  const writer = new Writer(database, { committed: () => {}, outcomeUnknown: () => {} });
  using other = new Database(path);
  const realNow = performance.now.bind(performance);
  let laterMs = 0;
  using _clock = spyOn(performance, "now").mockImplementation(() => realNow() + laterMs);
  for (let times = 0; times < 2; times++) {
    other.run("BEGIN IMMEDIATE");
    const stored = writer.transaction(() => "stored");
    await Bun.sleep(20);
    other.run("ROLLBACK");
    expect(await stored).toBe("stored");
    laterMs += 60_000;
  }
  other.run("BEGIN IMMEDIATE");
  const refused = writer.transaction(() => "stored").catch((error: Error) => error);
  laterMs += 5000;
  expect(await refused).toBeInstanceOf(StoreUnavailable);
  other.run("ROLLBACK");
  database.close();
  lock[Symbol.dispose]();
  rmSync(folder, { recursive: true });
});
