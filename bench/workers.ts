// npm run bench:workers [-- ROUNDS] [--quick] [--write]
// One and two workers against one and two bare processes, by turns, over 64 and 256 connections, on this machine's own disk.
import { ownOptions } from "./options.ts";
import { measurePairs } from "./pairs.ts";
import type { WorkerRatios } from "./report-rates.ts";
import { saveResults } from "./results.ts";
import { load, median, startBare, startOurs } from "./servers.ts";

const options = ownOptions();
const rounds = Number(options.positional[0] ?? (options.quick ? 1 : 7));
const seconds = options.quick ? 0.5 : 2;
// Each thread compiles its own code, and with half of the requests that takes it twice as long.
const warmUpSeconds = options.quick ? 0.5 : 30;

await using bare = await startBare();
await using twoBare = await startBare(2);
await using one = await startOurs();
await using two = await startOurs(["--workers", "2"]);
const [bareName, twoBareName] = ["one bare process", "two bare processes"];
const kinds = [
  { server: one, other: bare, name: `one worker to ${bareName}` },
  { server: two, other: twoBare, name: `two workers to ${twoBareName}` },
  { server: two, other: one, name: "two workers to one" },
  { server: twoBare, other: bare, name: `${twoBareName} to one` },
];
for (const server of [bare, twoBare, one, two]) {
  console.error(`warming up for ${warmUpSeconds} s: ${server.name}`);
  await load(server, { connections: 256, seconds: warmUpSeconds, firstId: -1_000_000_000 });
}
const pairs = [64, 256].flatMap((connections) =>
  kinds.map(({ name, ...pair }) => ({
    ...pair,
    name: `${connections} connections, ${name}`,
    load: { connections },
  })),
);
const measured = await measurePairs(pairs, { rounds, seconds });
for (const { pair, rates } of measured)
  console.log(
    `${pair.name}: ${median(rates).toFixed(2)} (${Math.min(...rates).toFixed(2)} to ${Math.max(...rates).toFixed(2)})`,
  );
const workers = [64, 256].map((connections): WorkerRatios => {
  const ofConnections = measured.filter(({ pair }) => pair.load?.connections === connections);
  return { connections, ratios: ofConnections.map(({ rates }) => median(rates)) };
});
saveResults({ workers }, options);
