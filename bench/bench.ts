// npm run bench [-- NAME [ARGUMENT…] [--rounds N] [--quick] [--write]]
// Machines differ and are noisy, so only ratios within one run mean anything: every bench compares in interleaved rounds.
import { fail } from "../scripts/processes.js";
import { compare } from "./compare.ts";
import { creates } from "./creates.ts";
import { disks } from "./disks.ts";
import { growth } from "./growth.ts";
import { operations } from "./operations.ts";
import { type Bench, benchOptions, MisusedError } from "./options.ts";
import { postgres } from "./postgres.ts";
import { scale } from "./scale.ts";

const benches: Readonly<Record<string, Bench>> = {
  creates,
  disks,
  compare,
  postgres,
  scale,
  growth,
  operations,
};
const [name = "", ...args] = process.argv.slice(2);
const bench = benches[name];
if (bench === undefined) {
  console.log(listOfBenches());
  process.exit(name === "" ? 0 : 2);
}
try {
  await bench.run(benchOptions(args, bench.rounds));
  process.exit();
} catch (error) {
  if (!(error instanceof MisusedError)) throw error;
  fail(`${error.message}\nusage: npm run bench -- ${name} ${bench.usage}`, 2);
}

function listOfBenches(): string {
  return [
    "usage: npm run bench -- NAME [ARGUMENT…] [--rounds N] [--quick] [--write]",
    "",
    ...Object.entries(benches).map(
      ([one, { usage, summary }]) => `  ${`${one} ${usage}`.trim()}\n      ${summary}`,
    ),
    "",
    "--rounds N  how many; more of them narrow the interval of the results",
    "--quick     one short round, to check that it works",
    "--write     puts the results into docs/results/benchmarks.md",
  ].join("\n");
}
