import { join } from "node:path";
import { eventually } from "../test/support/eventually.ts";
import { freePort } from "../test/support/free-port.ts";
import { temporaryFolder } from "../test/support/temporary-folder.ts";

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
// The start of a server is measured to this precision.
const askEveryMs = 2;
const endWithinMs = 5000;

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
  await using cleanUp = new AsyncDisposableStack();
  const folder = cleanUp.use(temporaryFolder());
  const startedMs = performance.now();
  const child = Bun.spawn([...command(port, folder.path)], {
    env: {
      PATH: process.env["PATH"] ?? "",
      PLANT_STORE_ACCESS_TOKEN: token,
      PLANT_STORE_OPERATOR_TOKEN: operatorTokenOf(token),
      PLANT_STORE_LOG_LEVEL: "error",
      PLANT_STORE_OPERATOR_LISTEN: `127.0.0.1:${operatorPort}`,
      ...environment,
    },
    cwd: folder.path,
    stdout: "ignore",
    stderr: "inherit",
  });
  cleanUp.defer(() => end(child));
  // A process that a signal has killed has no exit code.
  const hasEnded = () => child.exitCode !== null || child.signalCode !== null;
  await eventually(async () => hasEnded() || (await isReady(port)), `${name} to start`, askEveryMs);
  if (hasEnded()) throw new Error(`${name} ended with ${child.exitCode ?? child.signalCode}`);
  const firstAnswerMs = performance.now() - startedMs;
  const owned = cleanUp.move();
  return {
    name,
    port,
    operatorPort,
    pid: child.pid,
    firstAnswerMs,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

export function operatorTokenOf(accessToken: string): string {
  return `${accessToken}-operator`;
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

async function end(child: Bun.Subprocess): Promise<void> {
  child.kill("SIGTERM");
  const late = setTimeout(() => child.kill("SIGKILL"), endWithinMs);
  await child.exited;
  clearTimeout(late);
}
