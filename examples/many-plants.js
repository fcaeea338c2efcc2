// npm run build:client && PLANT_STORE_ACCESS_TOKEN=pst_… node examples/many-plants.js http://127.0.0.1:3000
// Creates a thousand plants from a generator, and reports progress.
import { PlantStoreClient } from "plant-store/client";

const client = new PlantStoreClient({
  baseUrl: process.argv[2] ?? "http://127.0.0.1:3000",
  token: process.env.PLANT_STORE_ACCESS_TOKEN ?? "",
});

function* seedlings() {
  for (let id = 1000; id < 2000; id++) yield { id, name: `Seedling ${id}` };
}

const counts = { created: 0, replayed: 0, refused: 0 };
for await (const outcome of client.createPlants(seedlings(), { concurrency: 32 })) {
  counts[outcome.kind]++;
  if (outcome.kind === "refused") console.log(`${outcome.item.name}: ${outcome.error.message}`);
  const { created, replayed } = counts;
  if ((created + replayed) % 250 === 0) console.log(`${created} created, ${replayed} replayed`);
}
