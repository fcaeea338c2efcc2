// npm run bench [-- ROUNDS]
// Durable creates per second, one worker, against a bare Bun.serve that stores nothing, in interleaved rounds of one
// run: machines are noisy, so only the ratio means something.
import { load, median, memoryMb, startBare, startOurs } from "./servers.ts";

const rounds = Number(process.argv[2] ?? 7);
const connections = 64;
const seconds = 3;

await using bare = await startBare();
await using ours = await startOurs();
let nextId = 1;
const rates: Record<"bare" | "ours", number[]> = { bare: [], ours: [] };
const latencies: Record<"bare" | "ours", number[]> = { bare: [], ours: [] };

console.error(`${rounds} rounds of ${seconds} s each, ${connections} connections, distinct ids`);
for (let round = 0; round <= rounds; round++) {
  // Which one goes first changes from round to round.
  for (const which of round % 2 === 0 ? (["bare", "ours"] as const) : (["ours", "bare"] as const)) {
    const result = await load(which === "bare" ? bare : ours, connections, round === 0 ? 2 : seconds, nextId);
    nextId = result.nextId;
    if (round === 0) continue;
    rates[which].push(result.rate);
    latencies[which].push(result.p99Us);
  }
  if (round === 0) console.error("warmed up");
  else console.error(`round ${round}: bare ${shown(rates.bare)}/s, plant-store ${shown(rates.ours)}/s`);
}

const ratios = rates.ours.map((rate, index) => rate / (rates.bare[index] ?? 1));
console.log("");
console.log(
  `bare Bun.serve, nothing stored   ${Math.round(median(rates.bare))}/s   p99 ${Math.round(median(latencies.bare))} µs`,
);
console.log(
  `plant-store, each 200 on disk    ${Math.round(median(rates.ours))}/s   p99 ${Math.round(median(latencies.ours))} µs`,
);
console.log(
  `median ratio                     ${median(ratios).toFixed(2)}   (${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)})`,
);
console.log(`process start to first 200       ${Math.round(ours.firstAnswerMs)} ms`);
console.log(`memory after ${nextId - 1} requests     ${Math.round(await memoryMb(ours.pid))} MB`);

function shown(values: readonly number[]): string {
  return String(Math.round(values.at(-1) ?? 0));
}
