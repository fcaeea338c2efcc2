// npm run soak [-- PLANTS]
// Creates so many plants (a million unless told) and prints the memory along the way: it must stay flat.
import { load, memoryMb, startOurs } from "./servers.ts";

const plants = Number(process.argv[2] ?? 1_000_000);
await using ours = await startOurs();
let nextId = 1;
let highest = 0;
while (nextId <= plants) {
  const result = await load(ours, { connections: 64, seconds: 3, firstId: nextId });
  nextId = result.nextId;
  const memory = await memoryMb(ours.pid);
  highest = Math.max(highest, memory);
  console.log(
    `${String(nextId - 1).padStart(10)} plants   ${Math.round(result.rate)}/s   ${memory.toFixed(0)} MB`,
  );
}
console.log(`highest: ${highest.toFixed(0)} MB`);
