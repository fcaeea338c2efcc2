// Loads two servers in turns, as a separate process; prints what it measured as JSON. A machine's speed changes within seconds,
// so short turns give both the same share of it.
// bun bench/load-pair.ts PairLoadArguments, as JSON
import { openSync, writeSync } from "node:fs";
import { compilePlainLoad, requestHead } from "./plain-load.ts";
import { cpuSeconds, median, type PairLoad, type PairLoadArguments } from "./servers.ts";

const options = JSON.parse(process.argv[2] ?? "") as PairLoadArguments;
const { connections, token, turns } = options;
const open = compilePlainLoad();
const switchFd = turns.switchFile === undefined ? undefined : openSync(turns.switchFile, "r+");
const servers = options.servers.map(({ port, pid }, index) => ({
  pid,
  load: open(port, connections),
  isOn: index === 0,
  answered: 0,
  seconds: 0,
  cpuSeconds: 0,
  rates: [] as number[],
}));
let nextId = options.firstId;
let refused = 0;
let loadSeconds = 0;
const startCpu = process.cpuUsage();
for (let turn = 0; turn < options.seconds / turns.seconds; turn++)
  // The first alternates, so that neither benefits from its position.
  for (const server of turn % 2 === 0 ? servers : servers.toReversed()) {
    if (switchFd !== undefined) writeSync(switchFd, Uint8Array.of(Number(server.isOn)), 0, 1, 0);
    const cpuBefore = await cpuSeconds(server.pid);
    const startMs = performance.now();
    const result = server.load.run({
      seconds: turns.seconds,
      firstId: nextId,
      isRandom: false,
      head: requestHead("/plants", token),
      bodyOpen: '{"id":',
      differing: options.headers === "differing",
      rate: 0,
    });
    loadSeconds += (performance.now() - startMs) / 1000;
    nextId = result.nextId;
    refused += result.refused;
    server.answered += result.answered;
    server.seconds += result.answered / result.rate;
    server.cpuSeconds += (await cpuSeconds(server.pid)) - cpuBefore;
    server.rates.push(result.rate);
  }
const { user, system } = process.cpuUsage(startCpu);
const [ours, theirs] = servers.map(({ answered, seconds, cpuSeconds }) => ({
  answered,
  rate: answered / seconds,
  cpuUs: (cpuSeconds * 1e6) / answered,
}));
const [oursRates = [], theirsRates = []] = servers.map(({ rates }) => rates);
const turnRatio = median(oursRates.map((rate, turn) => rate / (theirsRates[turn] ?? 1)));
const cores = (user + system) / 1e6 / loadSeconds;
console.log(JSON.stringify({ ours, theirs, turnRatio, nextId, refused, cores } as PairLoad));
process.exit(0);
