// The store of the Node peers: one durable commit a plant (WAL, synchronous=FULL), as such code does it.
import Database from "better-sqlite3";

export function createPlants() {
  const database = new Database("plants.db");
  database.pragma("journal_mode = WAL");
  database.pragma("synchronous = FULL");
  database.exec("CREATE TABLE plants (id INTEGER PRIMARY KEY, name TEXT NOT NULL, tag TEXT)");
  const insert = database.prepare("INSERT INTO plants VALUES (?, ?, ?) ON CONFLICT DO NOTHING");
  return { insert: (id, name, tag) => insert.run(id, name, tag ?? null) };
}
