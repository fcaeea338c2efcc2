import { RepeatedWhereStolen } from "./noise.ts";
import { bare, type Contender } from "./peers.ts";
import type { Row } from "./report-rates.ts";
import { cpuSeconds, type Load, load, median, memoryMb, type Server } from "./servers.ts";

export interface Rounds {
  readonly count: number;
  readonly seconds: number;
}

export interface LoadShape {
  readonly connections: number;
  readonly headers: "equal" | "differing";
}

interface Measured {
  readonly result: Load;
  readonly cpuUs: number;
}

/** A comparison in interleaved rounds, after one round to warm up. */
export class Interleaved {
  readonly #rounds: Rounds;
  #nextId = 1;

  constructor(rounds: Rounds) {
    this.#rounds = rounds;
  }

  async compare(
    contenders: readonly Contender[],
    shape: LoadShape,
    onStarted: (contender: Contender, server: Server) => Promise<void> = async () => {},
  ): Promise<Row[]> {
    await using stack = new AsyncDisposableStack();
    const servers = new Map<Contender, Server>();
    for (const contender of contenders) {
      const server = stack.use(await contender.start());
      servers.set(contender, server);
      await onStarted(contender, server);
    }
    const measured = new Map<Contender, Measured[]>(contenders.map((contender) => [contender, []]));
    const repeated = new RepeatedWhereStolen(this.#rounds.count);
    for (let round = 0; round <= this.#rounds.count; round++) {
      const progress = round === 0 ? "warming up" : `round ${round} of ${this.#rounds.count}`;
      console.error(`${shape.connections} connections, ${shape.headers} headers: ${progress}`);
      const results = await repeated.run(() => this.#round(servers, shape, round));
      if (round > 0) for (const [contender, one] of results) measured.get(contender)?.push(one);
    }
    const bareRates = (measured.get(bare) ?? []).map(({ result }) => result.rate);
    const rows: Row[] = [];
    for (const [contender, server] of servers)
      rows.push(await rowOf(contender, server, measured.get(contender) ?? [], bareRates));
    return fastestFirst(rows);
  }

  /** The 99th percentile at a given rate, each server in turn. */
  async p99At(rate: number, servers: readonly Server[]): Promise<number[]> {
    const p99 = servers.map((): number[] => []);
    for (let round = 0; round <= this.#rounds.count; round++) {
      for (const [index, server] of servers.entries()) {
        const { seconds } = this.#rounds;
        const result = await load(server, { connections: 64, seconds, firstId: this.#nextId, rate });
        this.#nextId = result.nextId;
        if (round > 0) p99[index]?.push(result.p99Us);
      }
    }
    return p99.map((values) => median(values));
  }

  // Each round starts with a different one, so that none always follows the same neighbour.
  async #round(
    servers: ReadonlyMap<Contender, Server>,
    shape: LoadShape,
    round: number,
  ): Promise<[Contender, Measured][]> {
    const results: [Contender, Measured][] = [];
    for (const [contender, server] of rotated([...servers], round))
      results.push([contender, await this.#measure(server, shape, round === 0)]);
    return results;
  }

  async #measure(server: Server, shape: LoadShape, isWarmUp: boolean): Promise<Measured> {
    const seconds = isWarmUp ? Math.min(1, this.#rounds.seconds) : this.#rounds.seconds;
    const before = await cpuSeconds(server.pid);
    const result = await load(server, { ...shape, seconds, firstId: this.#nextId });
    this.#nextId = result.nextId;
    const cpuUs = (((await cpuSeconds(server.pid)) - before) * 1e6) / Math.max(1, result.answered);
    return { result, cpuUs };
  }
}

export function fastestFirst(rows: readonly Row[]): Row[] {
  return rows.toSorted((one, other) => other.rate - one.rate);
}

async function rowOf(
  { name, durability, sharesWork }: Contender,
  { pid }: Server,
  measured: readonly Measured[],
  bareRates: readonly number[],
): Promise<Row> {
  const of = (pick: (result: Load) => number) => median(measured.map(({ result }) => pick(result)));
  return {
    name,
    durability,
    rate: of(({ rate }) => rate),
    ratio: median(measured.map(({ result }, index) => result.rate / (bareRates[index] ?? 1))),
    p50Us: of(({ p50Us }) => p50Us),
    p99Us: of(({ p99Us }) => p99Us),
    p999Us: of(({ p999Us }) => p999Us),
    memoryMb: await memoryMb(pid),
    cpuUsPerCreate: sharesWork ? undefined : median(measured.map(({ cpuUs }) => cpuUs)),
    loadCores: of(({ cores }) => cores),
  };
}

function rotated<Item>(items: readonly Item[], by: number): Item[] {
  const first = by % items.length;
  return [...items.slice(first), ...items.slice(0, first)];
}
