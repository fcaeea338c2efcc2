// npm run bench:compare -- CHECKOUT [ROUNDS] [CASE…]
// Durable creates of this version against another checkout of the project, in interleaved pairs of new processes: the rate, and the
// CPU time of the server for each create. The cases are own-disk, free (the fsync costs nothing), differing (the same with headers
// that differ in each request), 0.5ms and 2ms (what an fsync takes; these need a C compiler).
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { measureFreshPair, medianWithInterval } from "./pairs.ts";
import {
  type LoadOptions,
  memoryFolder,
  oursCommand,
  type Server,
  start,
  temporaryFolder,
} from "./servers.ts";

interface Case {
  /** Undefined for this machine's own disk. */
  readonly syncUs?: number;
  readonly load: Pick<LoadOptions, "connections" | "headers">;
}

const cases: Readonly<Record<string, Case>> = {
  "own-disk": { load: { connections: 64, headers: "equal" } },
  free: { syncUs: 0, load: { connections: 64, headers: "equal" } },
  differing: { syncUs: 0, load: { connections: 64, headers: "differing" } },
  "0.5ms": { syncUs: 500, load: { connections: 64, headers: "equal" } },
  "2ms": { syncUs: 2000, load: { connections: 512, headers: "equal" } },
};

const [checkout, count = "20", ...named] = process.argv.slice(2);
const unknown = named.find((name) => cases[name] === undefined);
if (checkout === undefined || unknown !== undefined) {
  console.error(`The usage is npm run bench:compare -- CHECKOUT [ROUNDS] [${Object.keys(cases).join("|")}]…`);
  process.exit(2);
}
const folder = temporaryFolder();
const memory = memoryFolder();
await using folders = new AsyncDisposableStack();
for (const used of [memory, folder]) folders.defer(() => rmSync(used, { recursive: true, force: true }));
const shim = join(folder, "slow-sync.so");
spawnSync("cc", ["-O1", "-shared", "-fPIC", "-o", shim, join(import.meta.dir, "slow-sync.c")], {
  stdio: "inherit",
});

for (const name of named.length > 0 ? named : ["own-disk"]) {
  const one = cases[name] as Case;
  const starts = { server: () => ours(one, join(import.meta.dir, "..")), other: () => ours(one, checkout) };
  const { rates, costs } = await measureFreshPair(name, starts, {
    rounds: Number(count),
    seconds: 2,
    load: one.load,
  });
  console.log(
    `${name}: rate ${medianWithInterval(rates)}; CPU for each create ${medianWithInterval(costs)} of the other checkout`,
  );
}

function ours({ syncUs }: Case, version: string): Promise<Server> {
  const data = mkdtempSync(join(syncUs === undefined ? folder : memory, "data-"));
  const environment = syncUs === undefined ? {} : { LD_PRELOAD: shim, SYNC_US: String(syncUs) };
  return start("plant-store", {
    command: (port) => oursCommand(port, join(data, "plants.db"), [], resolve(version)),
    environment,
  });
}
