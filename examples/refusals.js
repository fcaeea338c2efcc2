// npm run build:client && PLANT_STORE_ACCESS_TOKEN=pst_… node examples/refusals.js http://127.0.0.1:3000
// Shows what can go wrong, and how to distinguish the three kinds of errors.
import { PlantStoreClient, RequestAborted, ServiceRefused, ServiceUnreachable } from "plant-store/client";

const baseUrl = process.argv[2] ?? "http://127.0.0.1:3000";
const token = process.env.PLANT_STORE_ACCESS_TOKEN ?? "";
const client = new PlantStoreClient({ baseUrl, token });

// Refused too, if the store already has another plant with this id.
await report(client.createPlant({ id: 1, name: "Fern" }));
await report(client.createPlant({ id: 1, name: "Lily" }));

const nowhere = new PlantStoreClient({ baseUrl: "http://127.0.0.1:1", token, attemptsMax: 1 });
await report(nowhere.createPlant({ id: 2, name: "Fern" }));

await report(client.createPlant({ id: 3, name: "Fern" }, { signal: AbortSignal.abort() }));

async function report(creation) {
  try {
    await creation;
  } catch (error) {
    if (error instanceof ServiceRefused) console.log(`refused with ${error.error}: ${error.message}`);
    else if (error instanceof ServiceUnreachable) console.log(`unreachable: ${error.message}`);
    else if (error instanceof RequestAborted) console.log("aborted; sending it again would be safe");
    else throw error;
  }
}
