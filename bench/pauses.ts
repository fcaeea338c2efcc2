// npm run bench:pauses [-- MINUTES]
// The longest pause and the memory in so many minutes (10 unless told) of full load.
import { saveResults } from "./results.ts";
import { load, memoryMb, startOurs } from "./servers.ts";

const minutes = Number(process.argv[2] ?? 10);
const sliceSeconds = 20;
await using ours = await startOurs();
let nextId = 1;
let longestSilenceMs = 0;
let slowestAnswerMs = 0;
const memory: number[] = [];
for (let slice = 0; slice < (minutes * 60) / sliceSeconds; slice++) {
  const result = await load(ours, { connections: 64, seconds: sliceSeconds, firstId: nextId });
  nextId = result.nextId;
  longestSilenceMs = Math.max(longestSilenceMs, result.longestSilenceMs);
  slowestAnswerMs = Math.max(slowestAnswerMs, result.maxUs / 1000);
  memory.push(await memoryMb(ours.pid));
  console.error(
    `${((slice + 1) * sliceSeconds) / 60} min: ${Math.round(result.rate)}/s, longest silence ${result.longestSilenceMs.toFixed(1)} ms, ${memory.at(-1)?.toFixed(0)} MB`,
  );
}
const shown = memory.filter(
  (_, index) => index % Math.ceil(memory.length / 10) === 0 || index === memory.length - 1,
);
saveResults({ pauses: { minutes, plants: nextId - 1, longestSilenceMs, slowestAnswerMs, memoryMb: shown } });
console.log(
  `longest silence ${longestSilenceMs.toFixed(1)} ms, slowest answer ${slowestAnswerMs.toFixed(1)} ms, memory at most ${Math.max(...memory).toFixed(0)} MB`,
);
