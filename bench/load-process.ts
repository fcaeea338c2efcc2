// A load of POST /plants over keep-alive connections, as a process of its own; prints what it measured as JSON.
// bun bench/load-process.ts LoadArguments, as JSON
import { cc, ptr } from "bun:ffi";
import { join } from "node:path";
import type { LoadArguments, Loaded, Target, Turn } from "./load.ts";
import { cpuSeconds } from "./servers.ts";

const failures = ["", "", "could not send", "the server closed a connection", "no answer"];
const { symbols } = cc({
  source: join(import.meta.dir, "load.c"),
  symbols: {
    openLoad: { args: ["int", "int"], returns: "ptr" },
    closeLoad: { args: ["ptr"], returns: "void" },
    run: { args: ["ptr", "double", "ptr", "ptr", "i64", "int", "int", "ptr"], returns: "int" },
  },
});
const options = JSON.parse(process.argv[2] ?? "") as LoadArguments;
const { connections, seconds, turnSeconds = seconds } = options;
const servers = options.servers.map((target) => {
  const load = symbols.openLoad(target.port, connections);
  if (load === null) throw new Error(`could not connect to port ${target.port}`);
  return { target, load, turns: [] as Turn[], cpuSeconds: 0 };
});
let nextId = options.firstId;
let loadSeconds = 0;
const startCpu = process.cpuUsage();
for (let turn = 0; turn < seconds / turnSeconds; turn++)
  // The first alternates, so that neither benefits from its position.
  for (const server of turn % 2 === 0 ? servers : servers.toReversed()) {
    const cpuBefore = await cpuSeconds(server.target.pid);
    const startedMs = performance.now();
    server.turns.push(runTurn(server.load, server.target));
    loadSeconds += (performance.now() - startedMs) / 1000;
    server.cpuSeconds += (await cpuSeconds(server.target.pid)) - cpuBefore;
  }
const { user, system } = process.cpuUsage(startCpu);
const loaded: Loaded = {
  servers: servers.map(({ turns, cpuSeconds }) => ({ turns, cpuSeconds })),
  nextId,
  cores: (user + system) / 1e6 / loadSeconds,
};
console.log(JSON.stringify(loaded));
process.exit(0);

function runTurn(load: (typeof servers)[number]["load"], { path, idField, token }: Target): Turn {
  const result = new Float64Array(7);
  // Named, so that neither is collected before the call.
  const head = Buffer.from(
    `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\n\0`,
  );
  const bodyOpen = Buffer.from(`{"${idField}":\0`);
  const failed = symbols.run(
    load,
    turnSeconds,
    ptr(head),
    ptr(bodyOpen),
    BigInt(nextId),
    Number(options.order === "random"),
    Number(options.headers === "differing"),
    ptr(result),
  );
  if (failed !== 0) throw new Error(failures[failed]);
  const [answered = 0, refused = 0, next = 0, elapsedUs = 0, p50Us = 0, p99Us = 0, silenceUs = 0] = result;
  nextId = next;
  return { answered, refused, rate: answered / (elapsedUs / 1e6), p50Us, p99Us, silenceUs };
}
