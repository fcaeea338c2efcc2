// npm run soak [-- NAME|all [ROUNDS] [--seed N] [--write]]
import { parseArgs } from "node:util";
import { editSection, machine, table, today } from "../../bench/page.ts";
import { outputOf } from "../../scripts/processes.js";
import { crashPoints } from "./crash-points.ts";
import { digests } from "./digests.ts";
import { errors } from "./errors.ts";
import { files } from "./files.ts";
import { follow } from "./follow.ts";
import { kill } from "./kill.ts";
import { load, overload } from "./load.ts";
import { operator } from "./operator.ts";
import { postgres } from "./postgres.ts";
import { power } from "./power.ts";
import { type Figures, type Soak, seededRandom } from "./rounds.ts";
import { strangers } from "./strangers.ts";

const soaks: Readonly<Record<string, Soak>> = {
  kill,
  "crash-points": crashPoints,
  power,
  errors,
  files,
  operator,
  digests,
  postgres,
  follow,
  overload,
  strangers,
  load,
};
const names = Object.keys(soaks);
const columns = ["soak", "what", "rounds", "#acknowledged", "#missing or changed", "besides", "measured"];
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
// What ran is src/ without its tests: later commits that leave it as it is change nothing.
const lastChange = ["log", "-1", "--format=%h", "--", "src", ":!src/**/*.test.ts"];
const commit = outputOf("git", lastChange, `${import.meta.dir}/../..`).trim();
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
  const own = figures.map((figure) => rowOf(one, figure));
  rows.push(...own);
  const hasFailed = figures.some(({ failure }) => failure !== undefined);
  failed ||= hasFailed;
  if (!values.write) continue;
  if (hasFailed || figures.some(({ acknowledged }) => acknowledged === 0))
    console.error(`${one}: not written, since not all of it ran and passed`);
  else writeRows(one, own);
}
console.log(table(columns, rows));
process.exit(failed ? 1 : 0);

function rowOf(soak: string, { what, rounds, acknowledged, lost, note = "", failure }: Figures): string[] {
  if (failure !== undefined) console.error(`${soak} FAILED, ${what}: ${failure}`);
  const measured = `${today()}, ${commit}`;
  const length =
    soaks[soak]?.unit === "minutes" ? `${rounds} ${rounds === 1 ? "minute" : "minutes"}` : String(rounds);
  return [soak, what, length, String(acknowledged), String(lost), failure ?? note, measured];
}

/** Replaces the rows of this soak in the file of results; those of the others stay. */
function writeRows(soak: string, own: readonly string[][]): void {
  editSection("results/soaks.md", "soaks", (old) => {
    const written = Array.from(old.matchAll(/^\| (.*) \|$/gm), ([, row = ""]) => row.split(" | "));
    const rows = names.flatMap((one) => (one === soak ? own : written.filter(([name]) => name === one)));
    const where = `Measured on ${machine()}. Each row has its date and the commit that last changed \`src/\` by then.`;
    return `${where}\n\n${table(columns, rows)}`;
  });
}

function listOfSoaks(): string {
  return [
    "usage: npm run soak -- NAME [ROUNDS] [--seed N] [--write]",
    "       npm run soak -- all [SHARE] [--write]",
    "",
    ...Object.entries(soaks).map(
      ([one, { summary, rounds, unit }]) => `  ${one.padEnd(12)} ${summary}; ${rounds} ${unit} by default`,
    ),
    "",
    "all 0.25  runs all of them, with a quarter of their rounds",
    "--seed N  makes the same random choices again",
    "--write   puts the figures of each soak that passed into docs/results/soaks.md",
  ].join("\n");
}
