// npm run build:client && PLANT_STORE_ACCESS_TOKEN=pst_… node examples/one-plant.js http://127.0.0.1:3000
// Creates one plant. Run it twice: the second time it is a replay.
import { PlantStoreClient } from "plant-store/client";

const client = new PlantStoreClient({
  baseUrl: process.argv[2] ?? "http://127.0.0.1:3000",
  token: process.env.PLANT_STORE_ACCESS_TOKEN ?? "",
});

const plant = await client.createPlant({ id: 9223372036854775807n, name: "Fern", tag: "indoor" });
console.log(plant.replayed ? `${plant.name} was stored already.` : `${plant.name} is stored.`);
