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
    if (round % 2 === 0) return [await measure(pair.server, pair), await measure(pair.other, pair)];
    const theirs = await measure(pair.other, pair);
    return [await measure(pair.server, pair), theirs];
  }

  async function measure(server: Server, pair: Pair): Promise<Measured> {
    const before = await cpuSeconds(server.pid);
    const result = await load(server, { connections: 64, ...pair.load, seconds, firstId: nextId });
    nextId = result.nextId;
    const cpuUs = (((await cpuSeconds(server.pid)) - before) * 1e6) / Math.max(1, result.answered);
    return { rate: result.rate, cpuUs, loadCores: result.cores };
  }
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
