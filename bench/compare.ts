// npm run bench:compare -- CHECKOUT [ROUNDS]
// Durable creates of this version against another checkout of the project, in interleaved pairs: the rate, and the CPU time of the
// server for each create.
import { resolve } from "node:path";
import { measurePairs, medianWithInterval } from "./pairs.ts";
import { startOurs } from "./servers.ts";

const [checkout, count = "30"] = process.argv.slice(2);
if (checkout === undefined) {
  console.error("Name the folder of the checkout to compare with: npm run bench:compare -- ../before");
  process.exit(2);
}
await using now = await startOurs();
await using before = await startOurs([], resolve(checkout));
const pair = { name: "this version", server: now, other: before };
for (const { rates, costs } of await measurePairs([pair], { rounds: Number(count), seconds: 1.5 }))
  console.log(
    `rate ${medianWithInterval(rates)}; CPU for each create ${medianWithInterval(costs)} of the other checkout`,
  );
