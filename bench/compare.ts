// npm run bench:compare -- CHECKOUT [ROUNDS]
// Durable creates of this version against another checkout of the project, in interleaved pairs: the rate, and the CPU time of the
// server for each create.
import { resolve } from "node:path";
import { measureFreshPair, medianWithInterval } from "./pairs.ts";
import { startOurs } from "./servers.ts";

const [checkout, count = "20"] = process.argv.slice(2);
if (checkout === undefined) {
  console.error("Name the folder of the checkout to compare with: npm run bench:compare -- ../before");
  process.exit(2);
}
const starts = { server: () => startOurs(), other: () => startOurs([], resolve(checkout)) };
const { rates, costs } = await measureFreshPair("this version", starts, {
  rounds: Number(count),
  seconds: 2,
});
console.log(
  `rate ${medianWithInterval(rates)}; CPU for each create ${medianWithInterval(costs)} of the other checkout`,
);
