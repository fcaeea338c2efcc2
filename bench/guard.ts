// npm run bench:guard
// Two minutes, before a release: fails when durable creates fall under the floor, as a share of a bare Bun.serve's rate.
import { load, median, startBare, startOurs } from "./servers.ts";

const floors = { oneWorker: 0.9, allCores: 0.75 };
const rounds = 9;
await using bare = await startBare();
await using bareOnAllCores = await startBare(navigator.hardwareConcurrency);
await using ours = await startOurs();
let nextId = 1;
const ratios: Record<keyof typeof floors, number[]> = { oneWorker: [], allCores: [] };
for (let round = 0; round <= rounds; round++) {
  const rates = [];
  for (const server of [bare, ours, bareOnAllCores]) {
    const result = await load(server, { connections: 64, seconds: 3, firstId: nextId });
    nextId = result.nextId;
    rates.push(result.rate);
  }
  const [bareRate = 1, oursRate = 0, allCoresRate = 1] = rates;
  if (round === 0) continue;
  ratios.oneWorker.push(oursRate / bareRate);
  ratios.allCores.push(oursRate / allCoresRate);
  console.error(
    `round ${round} of ${rounds}: ${(oursRate / bareRate).toFixed(2)} of one, ${(oursRate / allCoresRate).toFixed(2)} of all cores`,
  );
}
for (const [name, floor] of Object.entries(floors)) {
  const ratio = median(ratios[name as keyof typeof floors]);
  const fine = ratio >= floor;
  console.log(
    `${name}: ${ratio.toFixed(2)} of bare Bun.serve, floor ${floor}: ${fine ? "fine" : "UNDER THE FLOOR"}`,
  );
  if (!fine) process.exitCode = 1;
}
