import type { FullLoad } from "./report.ts";
import { load, memoryMb, startOurs } from "./servers.ts";
import { recordWaits, restUs, type Span } from "./waits.ts";

const sliceSeconds = 20;
const pointsShown = 12;

/** That many minutes of full load on an empty store: its pauses, and its memory over time. */
export async function fullLoad(minutes: number): Promise<FullLoad> {
  using waits = await recordWaits();
  await using ours = await startOurs([], undefined, waits?.environment);
  let nextId = 1;
  let slowestAnswerMs = 0;
  const silences: Span[] = [];
  const memory: number[] = [];
  for (let slice = 1; slice <= (minutes * 60) / sliceSeconds; slice++) {
    const result = await load(ours, { connections: 64, seconds: sliceSeconds, firstId: nextId });
    nextId = result.nextId;
    silences.push(...result.silences);
    slowestAnswerMs = Math.max(slowestAnswerMs, result.maxUs / 1000);
    memory.push(await memoryMb(ours.pid));
    console.error(
      `${((slice * sliceSeconds) / 60).toFixed(1)} min: ${Math.round(result.rate)}/s, longest silence ${longestMs(result.silences).toFixed(1)} ms, ${memory.at(-1)?.toFixed(0)} MB`,
    );
  }
  const longestSilenceMs = longestMs(silences);
  const parts = waits && {
    withoutDiskMs: longestMs(without(silences, waits.disk())),
    withoutDiskAndStallsMs: longestMs(without(silences, [...waits.disk(), ...waits.stalls()])),
  };
  console.log(
    `${nextId - 1} plants, longest silence ${longestSilenceMs.toFixed(1)} ms, slowest answer ${slowestAnswerMs.toFixed(1)} ms, memory at most ${Math.max(...memory).toFixed(0)} MB`,
  );
  console.log(
    parts === undefined
      ? "How much of that was the disk or the hypervisor is not known: that needs a C compiler and root."
      : `Without waits for the disk ${parts.withoutDiskMs.toFixed(1)} ms, and without stalls of the hypervisor ${parts.withoutDiskAndStallsMs.toFixed(1)} ms`,
  );
  return {
    minutes,
    plants: nextId - 1,
    longestSilenceMs,
    ...parts,
    slowestAnswerMs,
    memoryMb: memory.filter(
      (_, index) => index % Math.ceil(memory.length / pointsShown) === 0 || index === memory.length - 1,
    ),
  };
}

function without(silences: readonly Span[], others: readonly Span[]): Span[] {
  const inOrder = others.toSorted((one, other) => one.startUs - other.startUs);
  return silences.map((silence) => ({ ...silence, us: restUs(silence, inOrder) }));
}

function longestMs(spans: readonly Span[]): number {
  return spans.reduce((longest, { us }) => Math.max(longest, us), 0) / 1000;
}
