import { CaseServers, caseNames, casesNamed, measurePair } from "./cases.ts";
import { barChart } from "./charts.ts";
import { type Load, load } from "./load.ts";
import { startBenchPostgres } from "./on-postgres.ts";
import type { Bench, BenchOptions } from "./options.ts";
import { table, writeChart, writeSection } from "./page.ts";
import { bare, type Contender, installPeers, ours, peers, peersOn } from "./peers.ts";
import { hasPocketBase } from "./pocketbase.ts";
import { memoryMb, type Server, startBare } from "./servers.ts";
import { median, medianInterval, medianWithInterval, RepeatedWhereStolen } from "./statistics.ts";

interface Row extends Pick<Load, "rate" | "p99Us" | "cpuUs" | "cores"> {
  readonly contender: Contender;
  readonly memoryMb: number;
}

const connections = 64;

/** Durable creates against a bare Bun.serve: with common alternatives, or in the named cases without them. */
export const creates: Bench = {
  usage: `[${caseNames.join("|")}]…`,
  summary:
    "durable creates against a bare Bun.serve and common alternatives; with cases, against the bare server alone, on other disks and with headers that differ in each request",
  rounds: 5,
  run: (options) => (options.positional.length > 0 ? inCases(options) : withPeers(options)),
};

async function inCases({ positional, rounds, quick, write }: BenchOptions): Promise<void> {
  await using servers = new CaseServers();
  const rows: (string | number)[][] = [];
  for (const one of casesNamed(positional)) {
    const starts = { ours: () => servers.start(one), other: startBare };
    const { rates, costs } = await measurePair(one, starts, { rounds, seconds: quick ? 0.5 : 2 });
    console.log(
      `${one.name}: rate ${medianWithInterval(rates)}; CPU for each create ${medianWithInterval(costs)} of bare`,
    );
    const { connections, headers = "equal" } = one.load;
    const interval = medianInterval(rates).map((ratio) => ratio.toFixed(2));
    rows.push([one.name, connections, headers, median(rates).toFixed(2), interval.join(" to ")]);
  }
  const columns = ["case", "#connections", "headers", "#ratio to bare Bun", "#95% interval"];
  if (write) writeSection("results/benchmarks.md", "creates-cases", table(columns, rows));
}

async function withPeers({ rounds, quick, write }: BenchOptions): Promise<void> {
  const round = { rounds, seconds: quick ? 0.5 : 3 };
  installPeers();
  if (!hasPocketBase()) console.log("PocketBase is left out: npm has it only for Linux on x86-64.");
  const sqlite = await interleaved([bare, ours, ...peers()], round);
  const rows = [...sqlite, ...(await onPostgres(round))].toSorted((one, other) => other.rate - one.rate);
  const text = ratesTable(rows);
  console.log(text);
  if (!write) return;
  writeSection("results/benchmarks.md", "creates", text);
  const bars = rows.map(({ contender: { name, durability }, rate }) => {
    return { label: name, note: durability, value: rate, isOurs: name.startsWith("plant-store") };
  });
  writeChart("rates.svg", barChart("POST /plants requests per second, 64 connections", bars));
}

/** In separate rounds: PostgreSQL continues to work after a load, and would disturb the others. */
async function onPostgres(round: Rounds): Promise<Row[]> {
  await using postgres = await startBenchPostgres();
  const rows = await interleaved([bare, ...peersOn(postgres)], round);
  return rows.filter(({ contender }) => contender !== bare);
}

interface Rounds {
  readonly rounds: number;
  readonly seconds: number;
}

/** All of them at once, loaded one after the other in each round, after one round to warm up. */
async function interleaved(contenders: readonly Contender[], { rounds, seconds }: Rounds): Promise<Row[]> {
  await using stack = new AsyncDisposableStack();
  const servers: (readonly [Contender, Server])[] = [];
  for (const contender of contenders) servers.push([contender, stack.use(await contender.start())]);
  const measured = new Map(contenders.map((contender) => [contender, [] as Load[]]));
  const repeated = new RepeatedWhereStolen(rounds);
  let nextId = 1;
  for (let round = 0; round <= rounds; round++) {
    console.error(round === 0 ? "warming up" : `round ${round} of ${rounds}`);
    // Each round starts with a different one, so that none always follows the same neighbour.
    const first = round % servers.length;
    const results = await repeated.run(async () => {
      const loads = new Map<Contender, Load>();
      for (const [contender, server] of [...servers.slice(first), ...servers.slice(0, first)]) {
        const loadSeconds = round === 0 ? Math.min(1, seconds) : seconds;
        const result = await load(server, { connections, seconds: loadSeconds, firstId: nextId });
        nextId = result.nextId;
        loads.set(contender, result);
      }
      return loads;
    });
    if (round > 0) for (const [contender, result] of results) measured.get(contender)?.push(result);
  }
  const rows = servers.map(async ([contender, { pid }]): Promise<Row> => {
    const loads = measured.get(contender) ?? [];
    const middle = (pick: (result: Load) => number) => median(loads.map(pick));
    return {
      contender,
      rate: middle(({ rate }) => rate),
      p99Us: middle(({ p99Us }) => p99Us),
      cpuUs: middle(({ cpuUs }) => cpuUs),
      cores: middle(({ cores }) => cores),
      memoryMb: await memoryMb(pid),
    };
  });
  // Awaited here, since the servers end on return.
  return await Promise.all(rows);
}

/** The ratio is the quotient of two rates of the table, so that a reader can divide them. */
function ratesTable(rows: readonly Row[]): string {
  const bareRate = rows.find(({ contender }) => contender === bare)?.rate ?? 1;
  return table(
    [
      "server",
      "a success means",
      "#requests/s",
      "#ratio to bare Bun",
      "#p99 µs",
      "#MB",
      "#CPU µs per request",
      "#load",
    ],
    rows.map(({ contender: { name, durability, sharesWork }, ...row }) => [
      name,
      durability,
      row.rate.toFixed(0),
      (row.rate / bareRate).toFixed(2),
      row.p99Us.toFixed(0),
      // Not known of a server whose first process has ended.
      row.memoryMb === 0 ? "" : row.memoryMb.toFixed(0),
      sharesWork ? "" : row.cpuUs.toFixed(0),
      row.cores.toFixed(2),
    ]),
  );
}
