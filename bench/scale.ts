import { cpus } from "node:os";
import { type NewPlant, PlantStoreClient } from "../src/client/plant-store-client.ts";
import { formatPlural } from "../src/text/counts.ts";
import type { PostgresServer } from "../test/support/postgres.ts";
import { CpuShare, shareOfNode } from "./cpu-share.ts";
import { load } from "./load.ts";
import { startBenchPostgres } from "./on-postgres.ts";
import { type Bench, MisusedError } from "./options.ts";
import { table, writeSection } from "./page.ts";
import { hasNginx, startProxy } from "./peers.ts";
import { type Server, startOurs, token } from "./servers.ts";
import { median } from "./statistics.ts";

const nodesMax = 4;
const connectionsPerNode = 64;
// Nodes that write at the same time take their ids from far apart.
const idsApart = 100_000_000;

/** One to four nodes on one PostgreSQL, each with the same fixed share of a core, directly and behind a proxy. */
export const scale: Bench = {
  usage: "",
  summary:
    "creates on 1 to 4 nodes with a fixed share of a core each, directly and through nginx, and one that is killed (needs root and cgroups)",
  rounds: 5,
  async run({ rounds, quick, write }) {
    if (!hasNginx) throw new MisusedError("There is no nginx, which this bench has as its proxy.");
    const seconds = quick ? 1 : 5;
    await using stack = new AsyncDisposableStack();
    const shares = Array.from({ length: nodesMax }, (_, index) =>
      stack.use(new CpuShare(String(index + 1), shareOfNode)),
    );
    const postgres = stack.use(await startBenchPostgres());
    const database = await postgres.newDatabase();
    const nodes: Server[] = [];
    for (const share of shares) {
      const node = stack.use(await startOurs({ database }));
      share.add(node.pid);
      nodes.push(node);
    }

    const counts = nodes.map((_, index) => index + 1);
    const rates = counts.map(() => ({ direct: [] as number[], proxied: [] as number[] }));
    // Of the machine, with all nodes.
    const busy = { direct: [] as number[], proxied: [] as number[] };
    let firstId = 1;
    for (let round = 0; round <= rounds; round++) {
      for (const [index, count] of counts.entries()) {
        const chosen = nodes.slice(0, count);
        const startedDirect = cpuTimes();
        const direct = await rateOf(chosen, seconds, firstId);
        const busyDirect = busySince(startedDirect);
        await using proxy = await startProxy(chosen.map(({ port }) => port));
        const startedProxied = cpuTimes();
        const { rate: proxied, nextId } = await load(proxy, {
          connections: connectionsPerNode * count,
          seconds,
          firstId: direct.nextId,
        });
        firstId = nextId;
        if (round === 0) continue;
        if (count === nodesMax) {
          busy.direct.push(busyDirect);
          busy.proxied.push(busySince(startedProxied));
        }
        rates[index]?.direct.push(direct.rate);
        rates[index]?.proxied.push(proxied);
      }
      console.error(round === 0 ? "warmed up" : `round ${round} of ${rounds}`);
    }

    const one = { direct: median(rates[0]?.direct ?? []), proxied: median(rates[0]?.proxied ?? []) };
    const rows = rates.map(({ direct, proxied }, index) => [
      index + 1,
      Math.round(median(direct)),
      `${(median(direct) / one.direct).toFixed(2)} ×`,
      Math.round(median(proxied)),
      `${(median(proxied) / one.proxied).toFixed(2)} ×`,
    ]);
    const text = [
      `Each node had ${Math.round(shareOfNode * 100)} % of one core; PostgreSQL, nginx and the load had the rest.`,
      "",
      table(["nodes", "#creates/s", "#of one", "#through nginx", "#of one"], rows),
      "",
      `With ${nodesMax} nodes the machine was ${percent(median(busy.direct))} busy, and ${percent(median(busy.proxied))} through nginx, which has one process.`,
      await killOne(postgres, database, nodes, quick ? 1000 : 20_000),
    ].join("\n");
    console.log(text);
    if (write) writeSection("results/benchmarks.md", "scale", text);
  },
};

/** How long the cores have worked so far, and how long they could have, in milliseconds. */
function cpuTimes(): { readonly worked: number; readonly whole: number } {
  const times = cpus().map(
    ({ times: { idle, user, nice, sys, irq } }) => [idle, user + nice + sys + irq] as const,
  );
  const worked = times.reduce((sum, [, busy]) => sum + busy, 0);
  return { worked, whole: times.reduce((sum, [idle]) => sum + idle, worked) };
}

function busySince(started: ReturnType<typeof cpuTimes>): number {
  const now = cpuTimes();
  return (now.worked - started.worked) / (now.whole - started.whole);
}

const percent = (share: number) => `${Math.round(share * 100)} %`;

/** All of them at the same time, each with a load of its own. */
async function rateOf(
  nodes: readonly Server[],
  seconds: number,
  firstId: number,
): Promise<{ rate: number; nextId: number }> {
  const results = await Promise.all(
    nodes.map((node, index) =>
      load(node, { connections: connectionsPerNode, seconds, firstId: firstId + index * idsApart }),
    ),
  );
  const rate = results.reduce((sum, result) => sum + result.rate, 0);
  return { rate, nextId: Math.max(...results.map(({ nextId }) => nextId)) };
}

/** Creates plants through the proxy, kills one node in the middle, and looks for every acknowledged plant. */
async function killOne(
  postgres: PostgresServer,
  database: string,
  nodes: readonly Server[],
  plants: number,
): Promise<string> {
  await using proxy = await startProxy(nodes.map(({ port }) => port));
  const client = new PlantStoreClient({ baseUrl: `http://127.0.0.1:${proxy.port}`, token, attemptsMax: 1 });
  const firstId = -plants;
  const sent = Array.from(
    { length: plants },
    (_, index): NewPlant => ({ id: firstId + index, name: "killed" }),
  );
  const acknowledged = new Set<string>();
  let failed = 0;
  let killedAfter = 0;
  const send = async (plant: NewPlant): Promise<void> => {
    if (acknowledged.size >= plants / 2 && killedAfter === 0) {
      killedAfter = acknowledged.size;
      process.kill(nodes.at(-1)?.pid ?? 0, "SIGKILL");
    }
    try {
      await client.createPlant(plant);
      acknowledged.add(String(plant.id));
    } catch {
      failed++;
    }
  };
  const queue = sent.values();
  const workers = Array.from({ length: connectionsPerNode }, async () => {
    for (const plant of queue) await send(plant);
  });
  await Promise.all(workers);
  const rows = await postgres.run<{ id: string }>("SELECT id::text FROM plants WHERE id < 0", database);
  const stored = new Set(rows.map(({ id }) => id));
  const lost = [...acknowledged].filter((id) => !stored.has(id)).length;
  return `A node was killed after ${killedAfter} of ${plants} plants through nginx: ${acknowledged.size - killedAfter} more were acknowledged, ${formatPlural(failed, "request")} failed, ${lost} acknowledged plants were lost.`;
}
