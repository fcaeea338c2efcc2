// npm run bench:stages [-- --quick] [--write]
// CPU time of each stage of a create, by calling the service's own functions in a loop; and a flame graph of a service under load.
// With --write, adds both to docs/benchmarks.md.
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type CpuProfile, flameGraph, mergeStacks } from "./flame-graph.ts";
import { ownOptions } from "./options.ts";
import type { Stages } from "./report-create-path.ts";
import { saveResults } from "./results.ts";
import { cpuSeconds, load, memoryFolder, oursCommand, start, startOursOn } from "./servers.ts";
import { batch, measureStages } from "./stage-loops.ts";

const options = ownOptions();
const seconds = options.quick ? 1 : 10;
// In memory, so that a commit costs only CPU time.
const folder = memoryFolder();

try {
  const measured = await measureStages(folder, options.quick ? 20_000 : 500_000);
  const socket = {
    name: "socket",
    what: "receive a request and send a response through `Bun.listen`, and no more",
    us: await socketUs(),
  };
  const stages: Stages = { batch, stages: [...measured, socket], cpuUsPerCreate: await underLoad() };
  for (const { name, what, us } of stages.stages)
    console.log(`${name.padEnd(18)} ${us.toFixed(2).padStart(6)} µs  ${what}`);
  console.log(
    `${"the process".padEnd(18)} ${stages.cpuUsPerCreate.toFixed(2).padStart(6)} µs per create under load`,
  );
  const svg = flameGraph(mergeStacks(await profile()), "A service under full load, 64 connections");
  const picture = join(import.meta.dir, "../docs/benchmarks/flame-graph.svg");
  if (options.write) writeFileSync(picture, svg);
  console.log(`flame graph: ${svg.length} bytes`);
  saveResults({ stages }, options);
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** CPU time of this process for a request that is answered without being parsed. */
async function socketUs(): Promise<number> {
  const body = '{"name":"Fern number 1","tag":"indoor"}';
  const response = `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
  const listener = Bun.listen({
    hostname: "127.0.0.1",
    port: 0,
    socket: { data: (client) => void client.write(response) },
  });
  const startCpu = process.cpuUsage();
  const server = { name: "socket", port: listener.port, ca: undefined };
  const { answered } = await load(server, { connections: 64, seconds, firstId: 1 });
  const { user, system } = process.cpuUsage(startCpu);
  listener.stop(true);
  return (user + system) / answered;
}

/** CPU time of the whole process for one create. */
async function underLoad(): Promise<number> {
  await using server = await startOursOn(join(folder, "load.db"));
  const { nextId } = await load(server, { connections: 64, seconds: 1, firstId: 1 });
  const before = await cpuSeconds(server.pid);
  const { answered } = await load(server, { connections: 64, seconds, firstId: nextId });
  return (((await cpuSeconds(server.pid)) - before) * 1e6) / answered;
}

async function profile(): Promise<CpuProfile> {
  const command = (port: number): string[] => {
    const [bun = "", ...rest] = oursCommand(port, join(folder, "profile.db"), []);
    return [bun, "--cpu-prof", "--cpu-prof-dir", folder, "--cpu-prof-interval", "500", ...rest];
  };
  {
    await using server = await start("plant-store", { command });
    await load(server, { connections: 64, seconds, firstId: 1 });
  }
  // Written when the process ends.
  const file = readdirSync(folder).find((name) => name.endsWith(".cpuprofile"));
  if (file === undefined) throw new Error("Bun wrote no CPU profile.");
  return JSON.parse(readFileSync(join(folder, file), "utf8")) as CpuProfile;
}
