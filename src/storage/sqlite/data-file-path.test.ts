import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { mkdtempSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openUnmoved } from "./data-file-path.ts";

function create(path: string, table: string): void {
  using database = new Database(path);
  database.run(`CREATE TABLE ${table} (x)`);
}

test("a data file that a start rebuilds while a command opens it is opened again", () => {
  const folder = mkdtempSync(join(tmpdir(), "plant-store-path-"));
  const [path, rebuilt] = [join(folder, "plants.db"), join(folder, "plants.db.rebuilt")];
  create(path, "old_one");
  create(rebuilt, "new_one");
  const opened: Database[] = [];
  using database = openUnmoved(path, () => {
    const connection = new Database(path);
    opened.push(connection);
    if (opened.length === 1) renameSync(rebuilt, path);
    return connection;
  });
  expect(database.query("SELECT name FROM sqlite_schema").all()).toEqual([{ name: "new_one" }]);
  expect(opened).toHaveLength(2);
  expect(() => opened[0]?.query("SELECT 1").get()).toThrow();
  rmSync(folder, { recursive: true });
});
