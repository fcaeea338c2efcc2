import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface Load {
  readonly rate: number;
  readonly answered: number;
  readonly refused: number;
  readonly nextId: number;
  readonly p50Us: number;
  readonly p99Us: number;
  readonly p999Us: number;
}

export interface Server extends AsyncDisposable {
  readonly name: string;
  readonly port: number;
  readonly pid: number;
  /** From the start of the process to its first answer to a create. */
  readonly firstAnswerMs: number;
}

export const token = "bench-token-0123456789-0123456789";
const here = import.meta.dir;

export function startBare(): Promise<Server> {
  return start("bare Bun.serve", (port) => [process.execPath, join(here, "bare.ts"), String(port)]);
}

export function startOurs(): Promise<Server> {
  const folder = mkdtempSync(join(tmpdir(), "plant-store-bench-"));
  const main = join(here, "../src/main.ts");
  const command = (port: number) => [
    process.execPath,
    main,
    "--listen",
    `127.0.0.1:${port}`,
    "--database",
    join(folder, "plants.db"),
  ];
  return start("plant-store", command, () => rmSync(folder, { recursive: true, force: true }));
}

export async function load(
  server: Server,
  connections: number,
  seconds: number,
  firstId: number,
): Promise<Load> {
  const args = [server.port, connections, seconds, token, firstId].map(String);
  const ran = Bun.spawn([process.execPath, join(here, "load.ts"), ...args], {
    stdout: "pipe",
    stderr: "inherit",
  });
  const result = JSON.parse(await new Response(ran.stdout).text()) as Load;
  if (result.refused > 0) throw new Error(`${server.name} refused ${result.refused} requests`);
  return result;
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1
    ? (sorted[middle] ?? 0)
    : ((sorted[middle - 1] ?? 0) + (sorted[middle] ?? 0)) / 2;
}

/** Resident memory in megabytes, as Linux tells it. */
export async function memoryMb(pid: number): Promise<number> {
  const status = await Bun.file(`/proc/${pid}/status`).text();
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024;
}

async function start(name: string, command: (port: number) => string[], cleanUp = () => {}): Promise<Server> {
  const port = freePort();
  const startMs = performance.now();
  const child = Bun.spawn(command(port), {
    env: { PATH: process.env["PATH"] ?? "", PLANT_STORE_ACCESS_TOKEN: token },
    stdout: "ignore",
    stderr: "inherit",
  });
  while (!(await answers(port))) await Bun.sleep(2);
  return {
    name,
    port,
    pid: child.pid,
    firstAnswerMs: performance.now() - startMs,
    async [Symbol.asyncDispose]() {
      child.kill("SIGTERM");
      await child.exited;
      cleanUp();
    },
  };
}

async function answers(port: number): Promise<boolean> {
  try {
    const response = await fetch(`http://127.0.0.1:${port}/plants`, {
      method: "POST",
      headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json" },
      body: '{"id":-1,"name":"first"}',
    });
    return response.ok;
  } catch {
    return false;
  }
}

function freePort(): number {
  const listener = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
  const { port } = listener;
  listener.stop(true);
  return port;
}
