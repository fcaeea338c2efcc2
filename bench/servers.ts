import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** How creates are written for a server. */
export interface RequestFormat {
  readonly path: string;
  readonly idField: string;
  readonly token: string;
}

export interface Server extends AsyncDisposable {
  readonly name: string;
  readonly port: number;
  readonly operatorPort: number;
  readonly pid: number;
  /** From the start of the process to its first 200 to a create. */
  readonly firstAnswerMs: number;
  /** How its creates differ from ours. */
  readonly requests?: RequestFormat;
}

export interface StartOptions {
  readonly command: (port: number, folder: string) => readonly string[];
  readonly environment?: Record<string, string>;
  /** Whether it responds yet; by default one of our creates decides. */
  readonly isReady?: (port: number) => Promise<boolean>;
}

export interface OursOptions {
  /** By default a new data file, which is removed at the end. */
  readonly database?: string;
  readonly flags?: readonly string[];
  readonly environment?: Record<string, string>;
  /** The folder of another version of this project, to compare with. */
  readonly checkout?: string;
}

export const token = "bench-token-0123456789-0123456789";
export const ownCheckout = join(import.meta.dir, "..");
const startWithinMs = 30_000;

export function startBare(): Promise<Server> {
  return startPeer("bare Bun.serve", process.execPath, "bare.js");
}

/** A program of peers/. */
export function startPeer(name: string, runtime: string, file: string, database = ""): Promise<Server> {
  return start(name, {
    command: (port) => [runtime, join(import.meta.dir, "peers", file), String(port), token, database],
    environment: { NODE_ENV: "production" },
  });
}

export function startOurs({
  database,
  flags = [],
  environment = {},
  checkout = ownCheckout,
}: OursOptions = {}): Promise<Server> {
  const command = (port: number, folder: string): string[] => {
    const listen = ["--listen", `127.0.0.1:${port}`];
    const store = ["--database", database ?? join(folder, "plants.db")];
    return [process.execPath, join(checkout, "src/main.ts"), "serve", ...listen, ...store, ...flags];
  };
  return start("plant-store", { command, environment });
}

export async function start(
  name: string,
  { command, environment = {}, isReady = createsPlants }: StartOptions,
): Promise<Server> {
  const port = freePort();
  const operatorPort = freePort();
  const folder = temporaryFolder();
  const startMs = performance.now();
  const child = Bun.spawn([...command(port, folder)], {
    env: {
      PATH: process.env["PATH"] ?? "",
      PLANT_STORE_ACCESS_TOKEN: token,
      PLANT_STORE_OPERATOR_TOKEN: operatorTokenOf(token),
      PLANT_STORE_LOG_LEVEL: "error",
      PLANT_STORE_OPERATOR_LISTEN: `127.0.0.1:${operatorPort}`,
      ...environment,
    },
    cwd: folder,
    stdout: "ignore",
    stderr: "inherit",
  });
  while (!(await isReady(port).catch(() => false))) {
    if (child.exitCode !== null) throw new Error(`${name} ended with ${child.exitCode}`);
    if (performance.now() - startMs > startWithinMs) throw new Error(`${name} did not start`);
    await Bun.sleep(2);
  }
  return {
    name,
    port,
    operatorPort,
    pid: child.pid,
    firstAnswerMs: performance.now() - startMs,
    async [Symbol.asyncDispose]() {
      child.kill("SIGTERM");
      const late = setTimeout(() => child.kill("SIGKILL"), 5000);
      await child.exited;
      clearTimeout(late);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

export function operatorTokenOf(accessToken: string): string {
  return `${accessToken}-operator`;
}

export function temporaryFolder(): string {
  return mkdtempSync(join(tmpdir(), "plant-store-bench-"));
}

/** In memory, so that an fsync costs nothing; on disk if the system has no such folder. */
export function memoryFolder(): string {
  return mkdtempSync(join(existsSync("/dev/shm") ? "/dev/shm" : tmpdir(), "plant-store-bench-"));
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

async function createsPlants(port: number): Promise<boolean> {
  const response = await fetch(`http://127.0.0.1:${port}/plants`, {
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
