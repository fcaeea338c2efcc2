import { join } from "node:path";
import { type RequestFormat, type Server, token } from "./servers.ts";
import { median } from "./statistics.ts";

export interface LoadOptions {
  readonly connections: number;
  readonly seconds: number;
  readonly firstId: number;
  /** Random ids are spread over all of int64. */
  readonly order?: "sequential" | "random";
  /** Whether an X-Request-Id and a traceparent differ in each request. */
  readonly headers?: "equal" | "differing";
}

/** Where a load goes, and how creates are written there. */
export interface Target extends RequestFormat {
  readonly port: number;
  readonly pid: number;
}

/** For load-process.ts. */
export interface LoadArguments extends LoadOptions {
  readonly servers: readonly Target[];
  /** How long each server is loaded until it is the turn of the next; by default to the end. */
  readonly turnSeconds?: number;
}

export interface Turn {
  readonly answered: number;
  readonly refused: number;
  /** Of those answered with success, per second. */
  readonly rate: number;
  readonly p50Us: number;
  readonly p99Us: number;
  /** The longest time without any answer. */
  readonly silenceUs: number;
}

export interface Loaded {
  readonly servers: readonly { readonly turns: readonly Turn[]; readonly cpuSeconds: number }[];
  readonly nextId: number;
  /** How much of a core the load itself used. */
  readonly cores: number;
}

export interface Load extends Turn {
  /** CPU time of the server for each request. */
  readonly cpuUs: number;
  readonly nextId: number;
  readonly cores: number;
}

/** Loads one server. A request may be refused only where the server is meant to be overloaded. */
export async function load(server: Server, options: LoadOptions & { mayRefuse?: boolean }): Promise<Load> {
  const { servers, nextId, cores } = await run([server], options);
  const [{ turns, cpuSeconds } = { turns: [], cpuSeconds: 0 }] = servers;
  const [turn] = turns;
  if (turn === undefined) throw new Error(`${server.name} was not loaded`);
  if (turn.refused > 0 && !options.mayRefuse)
    throw new Error(`${server.name} refused ${turn.refused} requests`);
  return { ...turn, cpuUs: (cpuSeconds * 1e6) / Math.max(1, turn.answered), nextId, cores };
}

// A machine's speed changes within seconds, so short turns give both servers the same share of it.
const turnSeconds = 0.25;

/** Loads two servers in turns, each for that many seconds: rate and CPU time for each create, as shares of the other's. */
export async function loadPair(
  pair: readonly [Server, Server],
  options: LoadOptions,
): Promise<{ rate: number; cost: number; nextId: number }> {
  const { servers, nextId } = await run(pair, { ...options, turnSeconds });
  const [ours, other] = servers.map(({ turns, cpuSeconds }) => {
    const answered = turns.reduce((sum, turn) => sum + turn.answered, 0);
    return { rates: turns.map(({ rate }) => rate), cost: cpuSeconds / answered };
  });
  if (ours === undefined || other === undefined) throw new Error("a pair is two servers");
  if (servers.some(({ turns }) => turns.some(({ refused }) => refused > 0)))
    throw new Error(`${pair[0].name} or ${pair[1].name} refused a request`);
  const rate = median(ours.rates.map((own, turn) => own / (other.rates[turn] ?? 1)));
  return { rate, cost: ours.cost / other.cost, nextId };
}

async function run(
  servers: readonly Server[],
  options: LoadOptions & Pick<LoadArguments, "turnSeconds">,
): Promise<Loaded> {
  const targets = servers.map(({ port, pid, requests }): Target => {
    return { port, pid, path: "/plants", idField: "id", token, ...requests };
  });
  const args = JSON.stringify({ ...options, servers: targets } satisfies LoadArguments);
  const ran = Bun.spawn([process.execPath, join(import.meta.dir, "load-process.ts"), args], {
    stdout: "pipe",
    stderr: "inherit",
  });
  const printed = await new Response(ran.stdout).text();
  if ((await ran.exited) !== 0) throw new Error(`the load on ${servers.map(({ name }) => name)} failed`);
  return JSON.parse(printed) as Loaded;
}
