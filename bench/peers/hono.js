// Hono on Bun with bun:sqlite: commits each plant durably by itself. bun hono.js PORT TOKEN
import { Database } from "bun:sqlite";
import { Hono } from "hono";

const [port, token] = process.argv.slice(2);
const database = new Database("plants.db", { create: true });
database.run("PRAGMA journal_mode = WAL");
database.run("PRAGMA synchronous = FULL");
database.run("CREATE TABLE plants (id INTEGER PRIMARY KEY, name TEXT NOT NULL, tag TEXT)");
const insert = database.query("INSERT INTO plants VALUES (?, ?, ?) ON CONFLICT DO NOTHING");

const app = new Hono();
app.post("/plants", async (context) => {
  if (context.req.header("authorization") !== `Bearer ${token}`)
    return context.json({ error: 40101, message: "no" }, 401);
  const { id, name, tag } = await context.req.json();
  if (!Number.isInteger(id) || typeof name !== "string")
    return context.json({ error: 40010, message: "no" }, 400);
  insert.run(id, name, tag ?? null);
  return context.json({ name, tag });
});
Bun.serve({ hostname: "127.0.0.1", port: Number(port), fetch: app.fetch });
