import { Database } from "bun:sqlite";
import { afterAll, expect, test } from "bun:test";
import { renameSync, writeFileSync } from "node:fs";
import { temporaryFolder } from "../../../../test/support/temporary-folder.ts";
import { Problem } from "../../../system/problem.ts";
import { isSameInode, openUnmoved } from "./inode.ts";

const folder = temporaryFolder();
afterAll(() => folder[Symbol.dispose]());

test("a file of the same inode number on another file system is another one", () => {
  expect(isSameInode({ dev: 1n, ino: 1n }, { dev: 1n, ino: 1n })).toBe(true);
  expect(isSameInode({ dev: 1n, ino: 1n }, { dev: 2n, ino: 1n })).toBe(false);
});

function createTable(file: string, name: string): void {
  using database = new Database(file);
  database.run(`CREATE TABLE ${name} (x)`);
}

test("a data file that a start replaces while a command opens it is opened again, without the old file", () => {
  const path = folder.newPath();
  const replacement = `${path}.replacement`;
  createTable(path, "old_one");
  createTable(replacement, "new_one");
  const connections: Database[] = [];
  using database = openUnmoved(path, () => {
    const connection = new Database(path);
    connections.push(connection);
    if (connections.length === 1) renameSync(replacement, path);
    return connection;
  });
  expect(database.query("SELECT name FROM sqlite_schema").all()).toEqual([{ name: "new_one" }]);
  expect(() => connections[0]?.query("SELECT 1").get()).toThrow();
});

test("a data file that is replaced whenever a command opens it is refused, and no connection stays open", () => {
  const path = folder.newPath();
  const replacement = `${path}.new`;
  writeFileSync(path, "");
  const connections: Database[] = [];
  const openAndReplace = () => {
    const database = new Database(path);
    connections.push(database);
    writeFileSync(replacement, "");
    renameSync(replacement, path);
    return database;
  };
  expect(() => openUnmoved(path, openAndReplace)).toThrow(
    new Problem(
      `${path} cannot be opened: it was deleted or replaced at every attempt. Stop the program that does so first.`,
    ),
  );
  expect(connections.length).toBeGreaterThan(1);
  for (const database of connections) expect(() => database.query("SELECT 1").get()).toThrow();
});
