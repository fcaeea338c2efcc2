import { type Case, CaseServers } from "./cases.ts";
import { load } from "./load.ts";
import type { Bench } from "./options.ts";
import { table, writeSection } from "./page.ts";
import { median } from "./statistics.ts";

// How long an fsync takes, from a disk with power-loss protection to one that spins.
const syncsMs = [0.1, 0.5, 2, 10] as const;
const connectionCounts = [64, 512] as const;

/** How many plants per second are stored, by the time that an fsync takes and the number of clients. */
export const disks: Bench = {
  usage: "",
  summary: "creates per second on disks whose fsync takes 0.1 to 10 ms, with 64 and with 512 connections",
  rounds: 5,
  async run({ rounds, quick, write }) {
    const seconds = quick ? 0.5 : 3;
    await using servers = new CaseServers();
    const rates = new Map<string, number[]>();
    // Every disk in every round, so that a slow minute of the machine affects all.
    for (let round = 1; round <= rounds; round++) {
      for (const syncMs of syncsMs) {
        for (const connections of connectionCounts) {
          const disk: Case = { name: `${syncMs} ms`, syncUs: syncMs * 1000, load: { connections } };
          const key = keyOf(syncMs, connections);
          rates.set(key, [...(rates.get(key) ?? []), await rateOn(servers, disk, seconds)]);
        }
      }
      console.error(`round ${round} of ${rounds}`);
    }
    const rows = connectionCounts.map((connections) => {
      const cells = syncsMs.map((syncMs) => median(rates.get(keyOf(syncMs, connections)) ?? []).toFixed(0));
      return [`creates/s, ${connections} connections`, ...cells];
    });
    const text = table(["an fsync takes", ...syncsMs.map((syncMs) => `#${syncMs} ms`)], rows);
    console.log(text);
    if (write) writeSection("results/benchmarks.md", "disks", text);
  },
};

/** The rate of a new process, once it is warm. */
async function rateOn(servers: CaseServers, disk: Case, seconds: number): Promise<number> {
  await using server = await servers.start(disk);
  const warm = await load(server, { ...disk.load, seconds: 2 * seconds, firstId: 1 });
  const { rate } = await load(server, { ...disk.load, seconds, firstId: warm.nextId });
  return rate;
}

function keyOf(syncMs: number, connections: number): string {
  return `${syncMs} ms, ${connections}`;
}
