// npm run soak [-- NAME [ROUNDS] [--seed N] [--write]]
import { execFileSync } from "node:child_process";
import { parseArgs } from "node:util";
import { editSection, machine, table, today } from "../../bench/page.ts";
import { errors } from "./errors.ts";
import { kill } from "./kill.ts";
import { load, overload } from "./load.ts";
import { postgres } from "./postgres.ts";
import { power } from "./power.ts";
import { type Figures, type Soak, seededRandom } from "./rounds.ts";

const soaks: Readonly<Record<string, Soak>> = { kill, power, errors, postgres, overload, load };
const columns = ["soak", "what", "rounds", "#acknowledged", "#missing or changed", "besides", "measured"];
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { seed: { type: "string" }, write: { type: "boolean", default: false } },
});
const [name = "", count] = positionals;
const soak = soaks[name];
if (soak === undefined || (count !== undefined && !(Number(count) > 0))) {
  console.log(listOfSoaks());
  process.exit(name === "" ? 0 : 2);
}
// What ran is src/ without its tests: later commits that leave it as it is change nothing.
const commit = execFileSync("git", ["log", "-1", "--format=%h", "--", "src", ":!src/**/*.test.ts"], {
  cwd: `${import.meta.dir}/../..`,
  encoding: "utf8",
}).trim();
const rounds = Number(count ?? soak.rounds);
const seed = Number(values.seed ?? crypto.getRandomValues(new Uint32Array(1))[0]);
console.log(`replay: npm run soak -- ${name} ${rounds} --seed ${seed}`);
const tell = (line: string) => console.error(`  ${line}`);
const figures = await soak.run({ rounds, random: seededRandom(seed), tell });
const rows = figures.map(rowOf);
console.log(table(columns, rows));
const failed = figures.some(({ failure }) => failure !== undefined);
if (values.write && (failed || figures.some(({ acknowledged }) => acknowledged === 0)))
  console.error("not written, since not all of it ran and passed");
else if (values.write) writeRows();
process.exit(failed ? 1 : 0);

function rowOf({ what, rounds, acknowledged, lost, note = "", failure }: Figures): string[] {
  if (failure !== undefined) console.error(`FAILED, ${what}: ${failure}`);
  const length = soak?.unit === "minutes" ? `${rounds} minutes` : String(rounds);
  const measured = `${today()}, ${commit}`;
  return [name, what, length, String(acknowledged), String(lost), failure ?? note, measured];
}

/** Replaces the rows of this soak on the page; those of the others stay. */
function writeRows(): void {
  editSection("reliability.md", "soaks", (old) => {
    const written = Array.from(old.matchAll(/^\| (.*) \|$/gm), ([, row = ""]) => row.split(" | "));
    const all = Object.keys(soaks).flatMap((one) =>
      one === name ? rows : written.filter(([other]) => other === one),
    );
    const where = `Measured on ${machine()}. Each row has its date and the commit that last changed \`src/\` by then.`;
    return `${where}\n\n${table(columns, all)}`;
  });
}

function listOfSoaks(): string {
  return [
    "usage: npm run soak -- NAME [ROUNDS] [--seed N] [--write]",
    "",
    ...Object.entries(soaks).map(
      ([one, { summary, rounds, unit }]) => `  ${one.padEnd(9)} ${summary}; ${rounds} ${unit} by default`,
    ),
    "",
    "--seed N  makes the same random choices again",
    "--write   puts the figures into docs/reliability.md, if the soak passed",
  ].join("\n");
}
