import { RepeatedWhereStolen } from "./noise.ts";
import {
  cpuSeconds,
  type Load,
  type LoadOptions,
  load,
  loadPair,
  median,
  type PairLoad,
  type Server,
  type Turns,
} from "./servers.ts";

/** A server and the one that it is compared with. */
export interface Pair {
  readonly name: string;
  readonly server: Server;
  readonly other: Server;
  /** By default 64 connections and equal headers. */
  readonly load?: Pick<LoadOptions, "connections" | "headers">;
}

/** By round, as shares of the other server's. */
export interface PairRatios {
  readonly pair: Pair;
  readonly rates: number[];
  /** Of CPU time for each create, which other work on the machine disturbs less. */
  readonly costs: number[];
}

/** Rate and CPU time for each create, as shares of the other server's. */
interface Measured {
  readonly rate: number;
  readonly cost: number;
  readonly loadCores: number;
  readonly nextId: number;
}

const warmUpSeconds = 1.5;

/** Loads the servers of each pair in turns, in interleaved rounds after one to warm up. */
export async function measurePairs(
  pairs: readonly Pair[],
  { rounds, seconds }: { rounds: number; seconds: number },
): Promise<PairRatios[]> {
  const all = pairs.map((pair): PairRatios => ({ pair, rates: [], costs: [] }));
  const repeated = new RepeatedWhereStolen(rounds * pairs.length);
  let firstId = 1;
  for (let round = 0; round <= rounds; round++) {
    const line: string[] = [];
    for (const { pair, rates, costs } of all) {
      const options = { connections: 64, ...pair.load, seconds };
      const measured = await repeated.run(async () => {
        const result = await measure([pair.server, pair.other], { ...options, firstId });
        firstId = result.nextId;
        return result;
      });
      const { rate, cost, loadCores } = measured;
      if (round > 0) {
        rates.push(rate);
        costs.push(cost);
      }
      line.push(
        `${pair.name} ${rate.toFixed(2)}, CPU ${cost.toFixed(2)} (load ${loadCores.toFixed(2)} of a core)`,
      );
    }
    console.error(`${round === 0 ? "warming up" : `round ${round} of ${rounds}`}: ${line.join("; ")}`);
  }
  return all;
}

/**
 * One ratio, with both servers started again in each round: two processes of the same program can differ by a tenth for as long as
 * they run.
 */
export async function measureFreshPair(
  name: string,
  starts: { readonly server: () => Promise<Server>; readonly other: () => Promise<Server> },
  { rounds, seconds, load }: { rounds: number; seconds: number; load: NonNullable<Pair["load"]> },
): Promise<Pick<PairRatios, "rates" | "costs">> {
  const all: Pick<PairRatios, "rates" | "costs"> = { rates: [], costs: [] };
  const repeated = new RepeatedWhereStolen(rounds);
  for (let round = 1; round <= rounds; round++) {
    const { rate, cost } = await repeated.run(async () => {
      await using server = await starts.server();
      await using other = await starts.other();
      const warm = await measure([server, other], { ...load, seconds: warmUpSeconds, firstId: 1 });
      return await measure([server, other], { ...load, seconds, firstId: warm.nextId });
    });
    all.rates.push(rate);
    all.costs.push(cost);
    console.error(`round ${round} of ${rounds}: ${name} ${rate.toFixed(3)}, CPU ${cost.toFixed(3)}`);
  }
  return all;
}

/**
 * What a part of the service costs: a process in which it is switched on and off in turns, a new one in each round. Two processes
 * of the same program differ too much to show a cost of a few percent. The server is a switched copy; see switched.ts.
 */
export async function measureSwitched(
  name: string,
  startServer: () => Promise<Server>,
  { rounds, seconds, turns }: { rounds: number; seconds: number; turns: Turns },
): Promise<Pick<PairRatios, "rates" | "costs">> {
  const all: Pick<PairRatios, "rates" | "costs"> = { rates: [], costs: [] };
  const repeated = new RepeatedWhereStolen(rounds);
  for (let round = 1; round <= rounds; round++) {
    const {
      ours,
      theirs,
      turnRatio: rate,
    } = await repeated.run(async () => {
      await using server = await startServer();
      const options = { connections: 64, seconds: warmUpSeconds, firstId: 1 };
      const { nextId } = await loadPair([server, server], options, turns);
      return await loadPair([server, server], { ...options, seconds, firstId: nextId }, turns);
    });
    const cost = ours.cpuUs / theirs.cpuUs;
    all.rates.push(rate);
    all.costs.push(cost);
    console.error(`round ${round} of ${rounds}: ${name} ${rate.toFixed(3)}, CPU ${cost.toFixed(3)}`);
  }
  return all;
}

async function measure(servers: readonly [Server, Server], options: LoadOptions): Promise<Measured> {
  const { ours, theirs, turnRatio, nextId, cores } = servers.some(({ ca }) => ca !== undefined)
    ? await loadOverTls(servers, options)
    : await loadPair(servers, options);
  return { rate: turnRatio, cost: ours.cpuUs / theirs.cpuUs, nextId, loadCores: cores };
}

/** One after the other: only the load that is not in C supports TLS. */
async function loadOverTls(
  [one, other]: readonly [Server, Server],
  options: LoadOptions,
): Promise<Omit<PairLoad, "refused">> {
  const ours = await loadOnce(one, options);
  const theirs = await loadOnce(other, { ...options, firstId: ours.nextId });
  const turnRatio = ours.rate / theirs.rate;
  return { ours, theirs, turnRatio, nextId: theirs.nextId, cores: Math.max(ours.cores, theirs.cores) };
}

async function loadOnce(server: Server, options: LoadOptions): Promise<Load & { cpuUs: number }> {
  const before = await cpuSeconds(server.pid);
  const result = await load(server, options);
  const seconds = (await cpuSeconds(server.pid)) - before;
  return { ...result, cpuUs: (seconds * 1e6) / Math.max(1, result.answered) };
}

/** The median with its 95% confidence interval: the values between which the true median is in 95 of 100 such runs. */
export function medianWithInterval(values: readonly number[]): string {
  const [low, high] = medianInterval(values);
  return `${median(values).toFixed(3)} (95%: ${low.toFixed(3)} to ${high.toFixed(3)})`;
}

/**
 * By order statistics: how many of n values are below the median is binomial, so nothing is assumed about their distribution.
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
