// node client-scenario.js URL TOKEN ID… : run by client-package.test.ts beside the unpacked package, on Node and on Bun.
import { PlantStoreClient, RequestAborted, ServiceRefused, ServiceUnreachable } from "plant-store-client";

const [baseUrl, token, ...ids] = process.argv.slice(2);
const client = new PlantStoreClient({ baseUrl, token });
const describe = (error) => ({
  kind: [ServiceRefused, ServiceUnreachable, RequestAborted].findIndex((type) => error instanceof type),
  error: error.error,
  status: error.status,
  hasRequestId: typeof error.requestId === "string",
});

const name = "n";
const outcomes = { created: 0, replayed: 0, refused: 0 };
const asBigints = ids.map((id) => ({ id: BigInt(id), name }));
const asText = ids.map((id) => ({ id, name }));
const asJson = ids.map((id) => ({ json: `{"id":${id},"name":"${name}"}` }));
for (const items of [asBigints, asText, asJson]) {
  for await (const { kind } of client.createPlants(items, { concurrency: 32 })) outcomes[kind]++;
}
const wrongToken = new PlantStoreClient({ baseUrl, token: "wrong" });
const nowhere = new PlantStoreClient({ baseUrl: "http://127.0.0.1:1", token, attemptsMax: 1 });
const result = {
  outcomes,
  tagged: await client.createPlant({ id: ids[0], name, tag: "t" }).catch(describe),
  denied: await wrongToken.createPlant({ id: 1, name }).catch(describe),
  unreachable: await nowhere.createPlant({ id: 1, name }).catch(describe),
  aborted: await client.createPlant({ id: 1, name }, { signal: AbortSignal.abort() }).catch(describe),
};
console.log(JSON.stringify(result));
