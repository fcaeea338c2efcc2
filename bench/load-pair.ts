// Loads two servers by turns, a quarter of a second each, as a process of its own; prints what it measured as JSON. How fast a machine
// is changes within seconds, and so short turns give both the same share of it.
// bun bench/load-pair.ts PORT OTHER_PORT CONNECTIONS SECONDS TOKEN FIRST_ID [equal|differing]
import { compilePlainLoad, requestHead } from "./plain-load.ts";

const [port, otherPort, connections, seconds, token = "", firstId, headers] = process.argv.slice(2);
const turnSeconds = 0.25;
const open = compilePlainLoad();
const measured = [port, otherPort].map((one) => ({
  load: open(Number(one), Number(connections)),
  answered: 0,
  seconds: 0,
}));
let nextId = Number(firstId);
let refused = 0;
const startCpu = process.cpuUsage();
const startMs = performance.now();
for (let turn = 0; turn < Number(seconds) / turnSeconds; turn++)
  // The first alternates, so that neither gains by its position.
  for (const one of turn % 2 === 0 ? measured : measured.toReversed()) {
    const result = one.load.run({
      seconds: turnSeconds,
      firstId: nextId,
      isRandom: false,
      head: requestHead("/plants", token),
      bodyOpen: '{"id":',
      differing: headers === "differing",
      rate: 0,
    });
    nextId = result.nextId;
    refused += result.refused;
    one.answered += result.answered;
    one.seconds += result.answered / result.rate;
  }
const { user, system } = process.cpuUsage(startCpu);
const cores = (user + system) / 1000 / (performance.now() - startMs);
const [ours, theirs] = measured.map(({ answered, seconds }) => ({ answered, rate: answered / seconds }));
console.log(JSON.stringify({ ours, theirs, nextId, refused, cores }));
process.exit(0);
