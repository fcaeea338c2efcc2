// npm run bench:network -- [ROUNDS]
// Durable creates over TLS against a bare Bun.serve with TLS, and with a rate limit and with every request logged against without, in
// interleaved rounds: the rate, and the creates for each second of the server's CPU time, which other work on the machine disturbs
// less. Fails when a rate falls under its floor.
import { join } from "node:path";
import { Authority } from "../test/certificates.ts";
import {
  cpuSeconds,
  load,
  median,
  oursCommand,
  type Server,
  start,
  startBare,
  startOurs,
  temporaryFolder,
} from "./servers.ts";

const rounds = Number(process.argv[2] ?? 9);
const folder = temporaryFolder();
const authority = new Authority(folder, "authority");
const { cert, key } = authority.issue("server");
const ca = authority.path;
const bareFile = join(import.meta.dir, "bare.ts");
const ours = (errorFile: string, ...flags: string[]) => ({
  command: (port: number, data: string) => oursCommand(port, join(data, "plants.db"), flags),
  errorFile: join(folder, errorFile),
});

await using plain = await startOurs();
await using bare = await startBare();
await using bareTls = await start("bare Bun.serve over TLS", {
  command: (port) => [process.execPath, bareFile, String(port), "1", cert, key],
  ca,
});
await using overTls = await start("over TLS", {
  ...ours("tls.log", "--tls-cert", cert, "--tls-key", key),
  ca,
});
await using limited = await start("rate limit", ours("limited.log", "--rate-limit", "100000000/s"));
await using logged = await start(
  "every request logged",
  ours("requests.log", "--log-requests", "all", "--log-level", "info"),
);
interface Comparison {
  readonly server: Server;
  readonly with: Server;
  readonly floor: number;
  readonly ratios: number[];
  readonly cpuRatios: number[];
}
const compare = (server: Server, other: Server, floor: number): Comparison => ({
  server,
  with: other,
  floor,
  ratios: [],
  cpuRatios: [],
});
const comparisons = [
  compare(plain, bare, 0.9),
  compare(overTls, bareTls, 0.85),
  compare(limited, plain, 0.95),
  compare(logged, plain, 0.75),
];
let nextId = 1;
for (let round = 0; round <= rounds; round++) {
  const rates = new Map<Server, { rate: number; perCpuSecond: number }>();
  for (const server of [plain, bare, bareTls, overTls, limited, logged]) {
    const startSeconds = await cpuSeconds(server.pid);
    const result = await load(server, { connections: 64, seconds: 2, firstId: nextId });
    nextId = result.nextId;
    const seconds = (await cpuSeconds(server.pid)) - startSeconds;
    rates.set(server, { rate: result.rate, perCpuSecond: result.answered / seconds });
  }
  if (round === 0) continue;
  for (const { server, with: other, ratios, cpuRatios } of comparisons) {
    const [one, two] = [rates.get(server), rates.get(other)];
    if (one === undefined || two === undefined) continue;
    ratios.push(one.rate / two.rate);
    cpuRatios.push(one.perCpuSecond / two.perCpuSecond);
  }
  const last = comparisons.map(
    ({ server, ratios, cpuRatios }) =>
      `${server.name} ${ratios.at(-1)?.toFixed(2)} (CPU ${cpuRatios.at(-1)?.toFixed(2)})`,
  );
  console.error(`round ${round} of ${rounds}: ${last.join(", ")}`);
}
for (const { server, with: other, floor, ratios, cpuRatios } of comparisons) {
  const ratio = median(ratios);
  const verdict = ratio >= floor ? "fine" : "UNDER THE FLOOR";
  const perCpu = median(cpuRatios).toFixed(2);
  console.log(
    `${server.name}: ${ratio.toFixed(2)} of ${other.name} (for each second of CPU ${perCpu}), floor ${floor}: ${verdict}`,
  );
  if (ratio < floor) process.exitCode = 1;
}
