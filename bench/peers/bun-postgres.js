// Bun.serve with a pool of pg's: each plant is one INSERT, committed by itself. bun bun-postgres.js PORT TOKEN DATABASE
import pg from "pg";

const [port, token, database] = process.argv.slice(2);
const pool = new pg.Pool({ connectionString: database, max: 10 });
const insert = {
  name: "insert",
  text: "INSERT INTO plants (id, name, tag, created_at_ms, created_by) VALUES ($1, $2, $3, $4, $5) ON CONFLICT (id) DO NOTHING",
};
Bun.serve({
  hostname: "127.0.0.1",
  port: Number(port),
  development: false,
  routes: {
    "/plants": {
      async POST(request) {
        if (request.headers.get("authorization") !== `Bearer ${token}`)
          return Response.json({ error: 40101, message: "no" }, { status: 401 });
        const { id, name, tag } = await request.json();
        if (
          !Number.isInteger(id) ||
          typeof name !== "string" ||
          (tag !== undefined && typeof tag !== "string")
        )
          return Response.json({ error: 40001, message: "no" }, { status: 400 });
        await pool.query({ ...insert, values: [id, name, tag ?? null, Date.now(), "bench"] });
        return Response.json({ name, tag });
      },
    },
  },
});
