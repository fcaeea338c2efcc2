// Express with better-sqlite3: validates the fields, commits each plant durably by itself. node express.js PORT TOKEN
import express from "express";
import { createPlants } from "./sqlite-node.js";

const [port, token] = process.argv.slice(2);
const plants = createPlants();
const app = express();
app.use(express.json({ limit: "64kb" }));
app.post("/plants", (request, response) => {
  if (request.headers.authorization !== `Bearer ${token}`)
    return response.status(401).json({ error: 40101, message: "no" });
  const { id, name, tag } = request.body ?? {};
  if (!Number.isInteger(id) || typeof name !== "string")
    return response.status(400).json({ error: 40010, message: "no" });
  plants.insert(id, name, tag);
  response.json({ name, tag });
});
app.listen(Number(port), "127.0.0.1");
