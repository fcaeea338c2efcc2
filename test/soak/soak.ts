// npm run soak [-- NAME|all [ROUNDS] [--seed N] [--write]]
import { parseArgs } from "node:util";
import { table, writeSection } from "../../bench/page.ts";
import { errors } from "./errors.ts";
import { kill } from "./kill.ts";
import { load } from "./load.ts";
import { overload } from "./overload.ts";
import { postgres } from "./postgres.ts";
import { power } from "./power.ts";
import { type Figures, type Soak, seededRandom } from "./rounds.ts";

const soaks: Readonly<Record<string, Soak>> = { kill, power, errors, postgres, overload, load };
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { seed: { type: "string" }, write: { type: "boolean", default: false } },
});
const [name = "", count] = positionals;
const chosen = Object.entries(soaks).filter(([one]) => name === "all" || name === one);
if (chosen.length === 0 || (count !== undefined && !(Number(count) > 0))) {
  console.log(listOfSoaks());
  process.exit(name === "" ? 0 : 2);
}
const rows: string[][] = [];
let failed = false;
for (const [one, soak] of chosen) {
  const share = name === "all" ? soak.rounds * Number(count ?? 1) : Number(count ?? soak.rounds);
  const rounds = soak.unit === "minutes" ? share : Math.ceil(share);
  const seed = Number(values.seed ?? crypto.getRandomValues(new Uint32Array(1))[0]);
  console.log(`${one}: ${rounds} ${soak.unit}, seed ${seed}`);
  console.log(`replay: npm run soak -- ${one} ${rounds} --seed ${seed}`);
  const random = seededRandom(seed);
  const figures = await soak.run({ rounds, random, tell: (line) => console.error(`  ${line}`) });
  for (const figure of figures) rows.push(rowOf(one, figure));
  failed ||= figures.some(({ failure }) => failure !== undefined);
}
const text = table(["soak", "what", "rounds", "#acknowledged", "#missing or changed", "besides"], rows);
console.log(text);
if (values.write && !failed) writeSection("reliability.md", "soaks", text);
process.exit(failed ? 1 : 0);

function rowOf(soak: string, { what, rounds, acknowledged, lost, note = "", failure }: Figures): string[] {
  if (failure !== undefined) console.error(`${soak} FAILED, ${what}: ${failure}`);
  return [soak, what, rounds, acknowledged.toString(), lost.toString(), failure ?? note];
}

function listOfSoaks(): string {
  return [
    "usage: npm run soak -- NAME [ROUNDS] [--seed N] [--write]",
    "       npm run soak -- all [SHARE] [--write]",
    "",
    ...Object.entries(soaks).map(
      ([one, { summary, rounds, unit }]) => `  ${one.padEnd(9)} ${summary}; ${rounds} ${unit} by default`,
    ),
    "",
    "all 0.25  runs all of them, with a quarter of their rounds",
    "--seed N  makes the same random choices again",
    "--write   puts the figures into docs/reliability.md, if all is well",
  ].join("\n");
}
