import type { FullLoad } from "./report.ts";
import { load, memoryMb, startOurs } from "./servers.ts";

const sliceSeconds = 20;
const pointsShown = 12;

/** So many minutes of full load on an empty store: how it paused, and the memory along the way. */
export async function fullLoad(minutes: number, flags: readonly string[]): Promise<FullLoad> {
  await using ours = await startOurs(flags);
  let nextId = 1;
  let longestSilenceMs = 0;
  let slowestAnswerMs = 0;
  const memory: number[] = [];
  for (let slice = 1; slice <= (minutes * 60) / sliceSeconds; slice++) {
    const result = await load(ours, { connections: 64, seconds: sliceSeconds, firstId: nextId });
    nextId = result.nextId;
    longestSilenceMs = Math.max(longestSilenceMs, result.longestSilenceMs);
    slowestAnswerMs = Math.max(slowestAnswerMs, result.maxUs / 1000);
    memory.push(await memoryMb(ours.pid));
    console.error(
      `${((slice * sliceSeconds) / 60).toFixed(1)} min: ${Math.round(result.rate)}/s, longest silence ${result.longestSilenceMs.toFixed(1)} ms, ${memory.at(-1)?.toFixed(0)} MB`,
    );
  }
  console.log(
    `${nextId - 1} plants, longest silence ${longestSilenceMs.toFixed(1)} ms, slowest answer ${slowestAnswerMs.toFixed(1)} ms, memory at most ${Math.max(...memory).toFixed(0)} MB`,
  );
  return {
    minutes,
    plants: nextId - 1,
    longestSilenceMs,
    slowestAnswerMs,
    memoryMb: memory.filter(
      (_, index) => index % Math.ceil(memory.length / pointsShown) === 0 || index === memory.length - 1,
    ),
  };
}
