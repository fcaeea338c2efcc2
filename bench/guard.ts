// npm run bench:guard [-- --quick]
// Two minutes, before a release: durable creates as a share of a bare Bun.serve's rate. Exits with 1 if they are under the floor,
// and with 3 if the machine is too noisy to judge.
import { NoiseMeter } from "./noise.ts";
import { ownOptions } from "./options.ts";
import { load, startBare, startOurs } from "./servers.ts";
import { verdict } from "./verdict.ts";

const { quick } = ownOptions();
const rounds = quick ? 2 : 9;
const seconds = quick ? 1 : 3;
await using bare = await startBare();
await using ours = await startOurs();
const meter = new NoiseMeter();
let nextId = 1;
const ratios: number[] = [];
for (let round = 0; round <= rounds; round++) {
  const rates = [];
  for (const server of [bare, ours]) {
    const result = await load(server, { connections: 64, seconds, firstId: nextId });
    nextId = result.nextId;
    rates.push(result.rate);
  }
  await meter.sampleOthers();
  if (round === 0) continue;
  const [bareRate = 1, oursRate = 0] = rates;
  meter.addBareRate(bareRate);
  ratios.push(oursRate / bareRate);
  console.error(`round ${round} of ${rounds}: ${(oursRate / bareRate).toFixed(2)}`);
}
const { exitCode, text } = verdict(ratios, meter.noise);
console.log(text);
process.exitCode = exitCode;
