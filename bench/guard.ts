// npm run bench:guard
// Two minutes, before a release: fails when durable creates fall under the floor, as a share of a bare Bun.serve's rate.
import { load, median, startBare, startOurs } from "./servers.ts";

const floors = { oneWorker: 0.9, allCores: 0.75 };
const rounds = 9;
const cores = navigator.hardwareConcurrency;
await using bare = await startBare();
await using ours = await startOurs();
await using bareOnAllCores = await startBare(cores);
await using oursOnAllCores = await startOurs(["--workers", String(cores)]);
let nextId = 1;
const ratios: Record<keyof typeof floors, number[]> = { oneWorker: [], allCores: [] };
for (let round = 0; round <= rounds; round++) {
  const rates = [];
  for (const server of [bare, ours, bareOnAllCores, oursOnAllCores]) {
    const result = await load(server, { connections: 64, seconds: 3, firstId: nextId });
    nextId = result.nextId;
    rates.push(result.rate);
  }
  if (round === 0) continue;
  const [bareRate = 1, oursRate = 0, bareAllRate = 1, oursAllRate = 0] = rates;
  ratios.oneWorker.push(oursRate / bareRate);
  ratios.allCores.push(oursAllRate / bareAllRate);
  console.error(
    `round ${round} of ${rounds}: ${(oursRate / bareRate).toFixed(2)} with one worker, ${(oursAllRate / bareAllRate).toFixed(2)} on all cores`,
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
