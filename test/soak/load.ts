import { readdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { load as loadServer } from "../../bench/load.ts";
import { memoryMb, type Server, startOurs, temporaryFolder } from "../../bench/servers.ts";
import { median } from "../../bench/statistics.ts";
import { countStored } from "./overload.ts";
import { judged, type Soak } from "./rounds.ts";

interface Sample {
  readonly memoryMb: number;
  readonly descriptors: number;
  readonly walMb: number;
}

const slicesMin = 8;
const sliceSecondsMax = 20;
// How much more the last quarter of the run may have than the second one; the first one warms up.
const growthMax = 1.1;
const slack: Sample = { memoryMb: 8, descriptors: 4, walMb: 8 };

export const load: Soak = {
  summary: "full load: memory, descriptors and WAL stay flat; an hour needs 10 GB of disk",
  unit: "minutes",
  rounds: 60,
  async run({ rounds: minutes, tell }) {
    const folder = temporaryFolder();
    const database = join(folder, "plants.db");
    await using stack = new AsyncDisposableStack();
    stack.defer(() => rmSync(folder, { recursive: true, force: true }));
    const server = stack.use(await startOurs({ database }));
    const seconds = Math.min(sliceSecondsMax, (minutes * 60) / slicesMin);
    const samples: Sample[] = [];
    let [nextId, acknowledged, silenceMs] = [1, 0, 0];
    for (let slice = 1; slice <= (minutes * 60) / seconds; slice++) {
      const result = await loadServer(server, { connections: 64, seconds, firstId: nextId });
      nextId = result.nextId;
      acknowledged += result.answered;
      silenceMs = Math.max(silenceMs, result.silenceUs / 1000);
      const sample = await sampleOf(server, database);
      samples.push(sample);
      const { memoryMb, descriptors, walMb } = sample;
      tell(
        `${((slice * seconds) / 60).toFixed(1)} min: ${Math.round(result.rate)}/s, ${memoryMb.toFixed(0)} MB, ${descriptors} descriptors, WAL ${walMb.toFixed(0)} MB`,
      );
    }
    const growing = (["memoryMb", "descriptors", "walMb"] as const).filter((of) => grew(samples, of));
    const range = (of: keyof Sample): string => {
      const values = samples.map((sample) => sample[of]);
      return `${Math.min(...values).toFixed(0)} to ${Math.max(...values).toFixed(0)}`;
    };
    const note = `memory ${range("memoryMb")} MB, descriptors ${range("descriptors")}, WAL ${range("walMb")} MB; longest silence ${silenceMs.toFixed(0)} ms`;
    const lost = Math.max(0, acknowledged - countStored(database));
    const figures = judged({ what: "full load", rounds: `${minutes} minutes`, acknowledged, lost, note });
    return [growing.length === 0 ? figures : { failure: `${growing} grew: ${note}`, ...figures }];
  },
};

async function sampleOf({ pid }: Server, database: string): Promise<Sample> {
  return {
    memoryMb: await memoryMb(pid),
    descriptors: await openDescriptors(pid),
    walMb: statSync(`${database}-wal`).size / 2 ** 20,
  };
}

/** The fewest within a moment: the load's connections are still being closed. */
async function openDescriptors(pid: number): Promise<number> {
  let fewest = Number.POSITIVE_INFINITY;
  for (let sample = 0; sample < 10; sample++) {
    await Bun.sleep(50);
    fewest = Math.min(fewest, readdirSync(`/proc/${pid}/fd`).length);
  }
  return fewest;
}

/** Whether the last quarter of the run had more than the second one. */
export function grew(samples: readonly Sample[], of: keyof Sample): boolean {
  const quarter = Math.floor(samples.length / 4);
  const middle = (from: number) => median(samples.slice(from, from + quarter).map((sample) => sample[of]));
  return middle(samples.length - quarter) > middle(quarter) * growthMax + slack[of];
}
