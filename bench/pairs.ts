import { RepeatedWhereStolen } from "./noise.ts";
import { cpuSeconds, type LoadOptions, load, median, type Server } from "./servers.ts";

/** A server and the one that it is compared with. */
export interface Pair {
  readonly name: string;
  readonly server: Server;
  readonly other: Server;
  /** 64 connections and equal headers, where none is given. */
  readonly load?: Pick<LoadOptions, "connections" | "headers">;
}

/** By round, as shares of the other server's. */
export interface PairRatios {
  readonly pair: Pair;
  readonly rates: number[];
  /** Of CPU time for each create, which other work on the machine disturbs less. */
  readonly costs: number[];
}

interface Measured {
  readonly rate: number;
  readonly cpuUs: number;
  readonly loadCores: number;
  readonly nextId: number;
}

/**
 * Loads the servers of each pair one right after the other, in interleaved rounds after one to warm up: how fast a machine is
 * changes within seconds, and a ratio is only as good as its two parts are close.
 */
export async function measurePairs(
  pairs: readonly Pair[],
  { rounds, seconds }: { rounds: number; seconds: number },
): Promise<PairRatios[]> {
  const all = pairs.map((pair): PairRatios => ({ pair, rates: [], costs: [] }));
  const repeated = new RepeatedWhereStolen(rounds * pairs.length);
  let nextId = 1;
  for (let round = 0; round <= rounds; round++) {
    const line: string[] = [];
    for (const { pair, rates, costs } of all) {
      const [ours, theirs] = await repeated.run(() => measurePair(pair, round));
      const [rate, cost] = [ours.rate / theirs.rate, ours.cpuUs / theirs.cpuUs];
      if (round > 0) {
        rates.push(rate);
        costs.push(cost);
      }
      const loadCores = Math.max(ours.loadCores, theirs.loadCores).toFixed(2);
      line.push(`${pair.name} ${rate.toFixed(2)}, CPU ${cost.toFixed(2)} (load ${loadCores} of a core)`);
    }
    console.error(`${round === 0 ? "warming up" : `round ${round} of ${rounds}`}: ${line.join("; ")}`);
  }
  return all;

  async function measurePair(pair: Pair, round: number): Promise<readonly [Measured, Measured]> {
    // The first alternates, so that neither gains by its position.
    if (round % 2 === 0) return [await run(pair.server, pair), await run(pair.other, pair)];
    const theirs = await run(pair.other, pair);
    return [await run(pair.server, pair), theirs];
  }

  async function run(server: Server, pair: Pair): Promise<Measured> {
    const measured = await measure(server, { connections: 64, ...pair.load, seconds, firstId: nextId });
    nextId = measured.nextId;
    return measured;
  }
}

/**
 * One ratio, with both servers started again in each round: two processes of the same program can differ by a tenth for as long as
 * they run. In a round, each is loaded first and last, so that a machine that becomes slower costs both the same.
 */
export async function measureFreshPair(
  name: string,
  starts: { readonly server: () => Promise<Server>; readonly other: () => Promise<Server> },
  { rounds, seconds }: { rounds: number; seconds: number },
): Promise<Pick<PairRatios, "rates" | "costs">> {
  const all: Pick<PairRatios, "rates" | "costs"> = { rates: [], costs: [] };
  const repeated = new RepeatedWhereStolen(rounds);
  for (let round = 1; round <= rounds; round++) {
    const [ours, theirs] = await repeated.run(measureRound);
    all.rates.push(ours.rate / theirs.rate);
    all.costs.push(ours.cpuUs / theirs.cpuUs);
    const [rate = 0, cost = 0] = [all.rates.at(-1), all.costs.at(-1)];
    console.error(`round ${round} of ${rounds}: ${name} ${rate.toFixed(2)}, CPU ${cost.toFixed(2)}`);
  }
  return all;

  async function measureRound(): Promise<readonly [Measured, Measured]> {
    await using server = await starts.server();
    await using other = await starts.other();
    let nextId = 1;
    const run = async (one: Server): Promise<Measured> => {
      const measured = await measure(one, { connections: 64, seconds, firstId: nextId });
      nextId = measured.nextId;
      return measured;
    };
    for (const one of [server, other]) await run(one);
    const results = [await run(server), await run(other), await run(other), await run(server)] as const;
    return [meanOf(results[0], results[3]), meanOf(results[1], results[2])];
  }
}

function meanOf(one: Measured, other: Measured): Measured {
  return { ...other, rate: (one.rate + other.rate) / 2, cpuUs: (one.cpuUs + other.cpuUs) / 2 };
}

async function measure(server: Server, options: LoadOptions): Promise<Measured> {
  const before = await cpuSeconds(server.pid);
  const { rate, answered, nextId, cores } = await load(server, options);
  const cpuUs = (((await cpuSeconds(server.pid)) - before) * 1e6) / Math.max(1, answered);
  return { rate, cpuUs, nextId, loadCores: cores };
}

/** The median with its 95% confidence interval: the values between which the true median is in 95 of 100 such runs. */
export function medianWithInterval(values: readonly number[]): string {
  const [low, high] = medianInterval(values);
  return `${median(values).toFixed(3)} (95%: ${low.toFixed(3)} to ${high.toFixed(3)})`;
}

/**
 * By order statistics: how many of n values are below the median is binomial, so nothing is assumed of how they are distributed.
 * Fewer than six values have no such interval; theirs is from the lowest to the highest.
 */
export function medianInterval(values: readonly number[]): [low: number, high: number] {
  const sorted = values.toSorted((one, other) => one - other);
  const outsideMax = 0.025;
  let outside = 0.5 ** sorted.length;
  let rank = 0;
  for (let term = outside; outside <= outsideMax; rank++) {
    term = (term * (sorted.length - rank)) / (rank + 1);
    outside += term;
  }
  const first = Math.max(0, rank - 1);
  return [sorted[first] ?? 0, sorted.at(-1 - first) ?? 0];
}
