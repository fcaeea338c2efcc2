// Fastify with better-sqlite3 and its own schemas: commits each plant durably by itself. node fastify.js PORT TOKEN
import fastify from "fastify";
import { createPlants } from "./sqlite-node.js";

const [port, token] = process.argv.slice(2);
const plants = createPlants();
const app = fastify({ bodyLimit: 65_536 });
const plant = { type: "object", properties: { name: { type: "string" }, tag: { type: "string" } } };
const newPlant = {
  type: "object",
  required: ["id", "name"],
  properties: { ...plant.properties, id: { type: "integer" } },
};
app.addHook("onRequest", async (request, reply) => {
  if (request.headers.authorization !== `Bearer ${token}`)
    return reply.code(401).send({ error: 40101, message: "no" });
});
app.post("/plants", { schema: { body: newPlant, response: { 200: plant } } }, (request, reply) => {
  const { id, name, tag } = request.body;
  plants.insert(id, name, tag);
  reply.send({ name, tag });
});
await app.listen({ port: Number(port), host: "127.0.0.1" });
