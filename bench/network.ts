// npm run bench:network -- [ROUNDS]
// Durable creates over TLS against a bare Bun.serve with TLS, and with a rate limit and with every request logged against without, in
// interleaved pairs: the rate, and the CPU time of the server for each create. Fails when a rate falls under its floor.
import { join } from "node:path";
import { Authority } from "../test/certificates.ts";
import { measurePairs, medianWithInterval, type Pair } from "./pairs.ts";
import { median, oursCommand, start, startBare, startOurs, temporaryFolder } from "./servers.ts";

const rounds = Number(process.argv[2] ?? 15);
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
  command: (port) => [process.execPath, bareFile, String(port), cert, key],
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
const floors = new Map<Pair, number>([
  [{ name: "creates against a bare Bun.serve", server: plain, other: bare }, 0.9],
  [{ name: "over TLS, against a bare one over TLS", server: overTls, other: bareTls }, 0.85],
  [{ name: "with a rate limit, against without", server: limited, other: plain }, 0.95],
  [{ name: "with every request logged, against without", server: logged, other: plain }, 0.75],
]);
for (const { pair, rates, costs } of await measurePairs([...floors.keys()], { rounds, seconds: 1.5 })) {
  const floor = floors.get(pair) ?? 0;
  const isFine = median(rates) >= floor;
  console.log(
    `${pair.name}: rate ${medianWithInterval(rates)}, CPU ${medianWithInterval(costs)}; floor ${floor}: ${isFine ? "fine" : "UNDER THE FLOOR"}`,
  );
  if (!isFine) process.exitCode = 1;
}
