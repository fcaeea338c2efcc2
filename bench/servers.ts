import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Span } from "./waits.ts";

/** What a load measured; see load.ts. */
export interface Load {
  readonly rate: number;
  readonly answered: number;
  readonly refused: number;
  readonly nextId: number;
  readonly p50Us: number;
  readonly p99Us: number;
  readonly p999Us: number;
  readonly maxUs: number;
  /** Times of over 5 ms without any response; unknown for a load over TLS. */
  readonly silences: readonly Span[];
  /** How much of a core the load itself used. */
  readonly cores: number;
}

export interface LoadOptions {
  readonly connections: number;
  readonly seconds: number;
  readonly firstId: number;
  readonly order?: "sequential" | "random";
  /** Whether an X-Request-Id and a traceparent differ in each request. */
  readonly headers?: "equal" | "differing";
  /** Requests per second; by default as many as possible. */
  readonly rate?: number;
  /** The access token of the requests; by default the preset one. */
  readonly token?: string;
  /** Set if the server is meant to be overloaded. */
  readonly mayRefuse?: boolean;
}

export interface Server extends AsyncDisposable {
  readonly name: string;
  readonly port: number;
  readonly operatorPort: number;
  readonly pid: number;
  /** From the start of the process to its first answer to a create. */
  readonly firstAnswerMs: number;
  /** The file of the authority that signed its certificate, if it uses TLS. */
  readonly ca: string | undefined;
  /** How its creates differ from ours. */
  readonly requests?: { readonly path: string; readonly idField: string; readonly token: string };
}

export interface StartOptions {
  readonly command: (port: number, folder: string) => readonly string[];
  readonly environment?: Record<string, string>;
  readonly ca?: string;
  /** Whether it responds yet; by default one of our creates decides. */
  readonly isReady?: (port: number) => Promise<boolean>;
  /** The file for its standard error; by default ours. */
  readonly errorFile?: string;
}

export const token = "bench-token-0123456789-0123456789";
const here = import.meta.dir;
const startWithinMs = 30_000;

export function startBare(): Promise<Server> {
  const command = (port: number) => [process.execPath, join(here, "bare.ts"), String(port)];
  return start("bare Bun.serve", { command });
}

/** `checkout`: the folder of another version of this project, to compare with. */
export function startOurs(
  flags: readonly string[] = [],
  checkout = join(here, ".."),
  environment: Record<string, string> = {},
): Promise<Server> {
  return start("plant-store", {
    command: (port, folder) => oursCommand(port, join(folder, "plants.db"), flags, checkout),
    environment,
  });
}

/** On an existing data file, which is not removed. */
export function startOursOn(database: string, environment: Record<string, string> = {}): Promise<Server> {
  return start("plant-store", { command: (port) => oursCommand(port, database, []), environment });
}

export function oursCommand(
  port: number,
  database: string,
  flags: readonly string[],
  checkout = join(here, ".."),
): string[] {
  return [
    process.execPath,
    join(checkout, "src/main.ts"),
    "serve",
    "--listen",
    `127.0.0.1:${port}`,
    "--database",
    database,
    ...flags,
  ];
}

export async function start(
  name: string,
  { command, environment = {}, ca, errorFile, isReady = (port) => answers(port, ca) }: StartOptions,
): Promise<Server> {
  const port = freePort();
  const operatorPort = freePort();
  const folder = temporaryFolder();
  const startMs = performance.now();
  const child = Bun.spawn([...command(port, folder)], {
    env: {
      PATH: process.env["PATH"] ?? "",
      PLANT_STORE_ACCESS_TOKEN: token,
      PLANT_STORE_LOG_LEVEL: "error",
      PLANT_STORE_OPERATOR_LISTEN: `127.0.0.1:${operatorPort}`,
      ...environment,
    },
    cwd: folder,
    stdout: "ignore",
    stderr: errorFile === undefined ? "inherit" : Bun.file(errorFile),
  });
  while (!(await isReady(port).catch(() => false))) {
    if (performance.now() - startMs > startWithinMs) throw new Error(`${name} did not start`);
    await Bun.sleep(2);
  }
  return {
    name,
    port,
    operatorPort,
    pid: child.pid,
    firstAnswerMs: performance.now() - startMs,
    ca,
    async [Symbol.asyncDispose]() {
      child.kill("SIGTERM");
      const late = setTimeout(() => child.kill("SIGKILL"), 5000);
      await child.exited;
      clearTimeout(late);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

export async function load(
  server: Pick<Server, "name" | "port" | "ca" | "requests">,
  options: LoadOptions,
): Promise<Load> {
  const { connections, seconds, firstId, order = "sequential", headers = "equal", rate = 0 } = options;
  const { path, idField, token: own } = server.requests ?? { path: "/plants", idField: "id", token };
  const request = [server.port, connections, seconds, options.token ?? own, firstId];
  const args = [...request, order, headers, rate, server.ca ?? "", path, idField].map(String);
  const ran = Bun.spawn([process.execPath, join(here, "load.ts"), ...args], {
    stdout: "pipe",
    stderr: "inherit",
  });
  const result = JSON.parse(await new Response(ran.stdout).text()) as Load;
  if (result.refused > 0 && !options.mayRefuse)
    throw new Error(`${server.name} refused ${result.refused} of ${result.answered} requests`);
  return result;
}

/** How two servers are loaded in turns; see load-pair.ts. */
export interface Turns {
  readonly seconds: number;
  /** Both are the same server then: the file's one byte is 1 in the turns of the first, and 0 in those of the other. */
  readonly switchFile?: string;
}

export interface PairLoadArguments extends LoadOptions {
  readonly servers: readonly { readonly port: number; readonly pid: number }[];
  readonly token: string;
  readonly turns: Turns;
}

export interface PairLoad {
  readonly ours: TurnsLoad;
  readonly theirs: TurnsLoad;
  /** Of the rates in each pair of turns, their median. */
  readonly turnRatio: number;
  readonly refused: number;
  readonly nextId: number;
  readonly cores: number;
}

interface TurnsLoad extends Pick<Load, "rate" | "answered"> {
  /** CPU time of the server for each create. */
  readonly cpuUs: number;
}

const quarterSeconds: Turns = { seconds: 0.25 };

/** Loads both in turns, each for that many seconds. Neither may use TLS. */
export async function loadPair(
  servers: readonly [Server, Server],
  options: LoadOptions,
  turns = quarterSeconds,
): Promise<PairLoad> {
  const addresses = servers.map(({ port, pid }) => ({ port, pid }));
  const args: PairLoadArguments = { token, ...options, servers: addresses, turns };
  const ran = Bun.spawn([process.execPath, join(here, "load-pair.ts"), JSON.stringify(args)], {
    stdout: "pipe",
    stderr: "inherit",
  });
  const result = JSON.parse(await new Response(ran.stdout).text()) as PairLoad;
  if (result.refused > 0)
    throw new Error(`${servers.map(({ name }) => name).join(" or ")} refused ${result.refused} requests`);
  return result;
}

export function temporaryFolder(): string {
  return mkdtempSync(join(tmpdir(), "plant-store-bench-"));
}

/** In memory, so that an fsync costs nothing; on disk if the system has no such folder. */
export function memoryFolder(): string {
  return mkdtempSync(join(existsSync("/dev/shm") ? "/dev/shm" : tmpdir(), "plant-store-bench-"));
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1
    ? (sorted[middle] ?? 0)
    : ((sorted[middle - 1] ?? 0) + (sorted[middle] ?? 0)) / 2;
}

/** Resident memory in megabytes, as Linux reports it. */
export async function memoryMb(pid: number): Promise<number> {
  const status = await Bun.file(`/proc/${pid}/status`).text();
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024;
}

/** Seconds of CPU time that a process, its threads and its children have used, as Linux reports it. */
export async function cpuSeconds(pid: number): Promise<number> {
  const children = (await Bun.file(`/proc/${pid}/task/${pid}/children`).text()).split(" ").filter(Boolean);
  const ofChildren = await Promise.all(children.map((child) => cpuSeconds(Number(child))));
  const fields = (await Bun.file(`/proc/${pid}/stat`).text()).split(") ")[1]?.split(" ") ?? [];
  const ticksPerSecond = 100;
  const own = (Number(fields[11]) + Number(fields[12])) / ticksPerSecond;
  return ofChildren.reduce((sum, seconds) => sum + seconds, own);
}

async function answers(port: number, ca: string | undefined): Promise<boolean> {
  const response = await fetch(`${ca === undefined ? "http" : "https"}://127.0.0.1:${port}/plants`, {
    ...(ca !== undefined && { tls: { ca: await Bun.file(ca).text() } }),
    method: "POST",
    headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json" },
    body: '{"id":-1,"name":"first"}',
  });
  return response.ok;
}

function freePort(): number {
  const listener = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
  const { port } = listener;
  listener.stop(true);
  return port;
}
