// npm run bench:guard [-- --quick]
// Two minutes, before a release: durable creates as a share of a bare Bun.serve's rate. Exits with 1 if they are under the floor,
// and with 3 if the machine is too noisy to judge.
import { NoiseMeter } from "./noise.ts";
import { ownOptions } from "./options.ts";
import { load, startBare, startOurs } from "./servers.ts";
import { type Ratios, verdict } from "./verdict.ts";

const { quick } = ownOptions();
const rounds = quick ? 2 : 9;
const seconds = quick ? 1 : 3;
const cores = navigator.hardwareConcurrency;
await using bare = await startBare();
await using ours = await startOurs();
await using bareOnAllCores = await startBare(cores);
await using oursOnAllCores = await startOurs(["--workers", String(cores)]);
const meter = new NoiseMeter();
let nextId = 1;
const ratios: Ratios = { oneWorker: [], allCores: [] };
for (let round = 0; round <= rounds; round++) {
  const rates = [];
  for (const server of [bare, ours, bareOnAllCores, oursOnAllCores]) {
    const result = await load(server, { connections: 64, seconds, firstId: nextId });
    nextId = result.nextId;
    rates.push(result.rate);
  }
  await meter.sampleOthers();
  if (round === 0) continue;
  const [bareRate = 1, oursRate = 0, bareAllRate = 1, oursAllRate = 0] = rates;
  meter.addBareRate(bareRate);
  ratios.oneWorker.push(oursRate / bareRate);
  ratios.allCores.push(oursAllRate / bareAllRate);
  console.error(
    `round ${round} of ${rounds}: ${(oursRate / bareRate).toFixed(2)} with one worker, ${(oursAllRate / bareAllRate).toFixed(2)} on all cores`,
  );
}
const { exitCode, lines } = verdict(ratios, meter.noise);
for (const line of lines) console.log(line);
process.exitCode = exitCode;
