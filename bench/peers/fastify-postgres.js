// Fastify with a pool of pg's: each plant is one INSERT, committed by itself. node fastify-postgres.js PORT TOKEN DATABASE
import fastify from "fastify";
import pg from "pg";

const [port, token, database] = process.argv.slice(2);
const pool = new pg.Pool({ connectionString: database, max: 10 });
const app = fastify({ bodyLimit: 65_536 });
const plant = { type: "object", properties: { name: { type: "string" }, tag: { type: "string" } } };
const newPlant = {
  type: "object",
  required: ["id", "name"],
  properties: { ...plant.properties, id: { type: "integer" } },
};
const insert = {
  name: "insert",
  text: "INSERT INTO plants (id, name, tag, created_at_ms, created_by) VALUES ($1, $2, $3, $4, $5) ON CONFLICT (id) DO NOTHING",
};
app.addHook("onRequest", async (request, reply) => {
  if (request.headers.authorization !== `Bearer ${token}`)
    return reply.code(401).send({ error: 40101, message: "no" });
});
app.post("/plants", { schema: { body: newPlant, response: { 200: plant } } }, async (request) => {
  const { id, name, tag } = request.body;
  await pool.query({ ...insert, values: [id, name, tag ?? null, Date.now(), "bench"] });
  return { name, tag };
});
await app.listen({ port: Number(port), host: "127.0.0.1" });
