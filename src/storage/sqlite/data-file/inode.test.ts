import { Database } from "bun:sqlite";
import { afterAll, describe, expect, test } from "bun:test";
import { renameSync, writeFileSync } from "node:fs";
import { temporaryFolder } from "../../../../test/support/temporary-folder.ts";
import { DataFileProblem } from "./data-file-problem.ts";
import { openUnmoved } from "./inode.ts";

const folder = temporaryFolder();
afterAll(() => folder[Symbol.dispose]());

function createTable(file: string, name: string): void {
  using database = new Database(file);
  database.run(`CREATE TABLE ${name} (x)`);
}

describe("a data file that a start rebuilds while a command opens it", () => {
  /** Opens it as a command does: the first connection is to the old file, and what is returned should be one to the new. */
  function openRebuilt() {
    const path = folder.newPath();
    const rebuilt = `${path}.rebuilt`;
    createTable(path, "old_one");
    createTable(rebuilt, "new_one");
    const connections: Database[] = [];
    const database = openUnmoved(path, () => {
      const connection = new Database(path);
      connections.push(connection);
      if (connections.length === 1) renameSync(rebuilt, path);
      return connection;
    });
    return { database, first: connections[0] as Database, [Symbol.dispose]: () => database.close() };
  }

  test("is opened again", () => {
    using opened = openRebuilt();
    const tables = opened.database.query("SELECT name FROM sqlite_schema").all();
    expect(tables).toEqual([{ name: "new_one" }]);
  });

  test("has no connection to the old file left", () => {
    using opened = openRebuilt();
    expect(() => opened.first.query("SELECT 1").get()).toThrow();
  });
});

describe("a data file that is replaced whenever a command opens it", () => {
  /** A function that opens it as a command does, and the connections that were made. */
  function openReplaced(path: string) {
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
    return { connections, open: () => openUnmoved(path, openAndReplace) };
  }

  test("is refused", () => {
    const path = folder.newPath();
    const { open } = openReplaced(path);
    expect(open).toThrow(
      new DataFileProblem(
        `${path} cannot be opened: it was deleted or replaced at every attempt. Stop the program that does so first.`,
      ),
    );
  });

  test("leaves no connection open", () => {
    const { connections, open } = openReplaced(folder.newPath());
    expect(open).toThrow(DataFileProblem);
    expect(connections.length).toBeGreaterThan(1);
    for (const database of connections) expect(() => database.query("SELECT 1").get()).toThrow();
  });
});
