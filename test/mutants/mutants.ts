// npm run mutants [-- TEXT]
// Breaks one line of the source at a time, in a copy of the tree, and runs the tests that should notice. Prints the mutants that
// survive, and exits with 1 if there are any. With a text, only those whose file contains it.
import { spawn } from "node:child_process";
import { cpSync, existsSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { finished, outputOf } from "../../scripts/processes.js";
import { minuteMs } from "../../src/text/duration.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import list from "./mutants.json" with { type: "json" };

interface Mutant {
  readonly file: string;
  /** Found exactly once in the file. */
  readonly text: string;
  readonly replacement: string;
  /** The test files of which at least one must fail. */
  readonly tests: readonly string[];
}

export const root = join(import.meta.dir, "../..");
const fileMsMax = 5 * minuteMs;

export function readMutants(): Mutant[] {
  return Object.entries(list).flatMap(([file, { tests, mutants }]) =>
    Object.entries(mutants).map(([text, replacement]) => ({ file, text, replacement, tests })),
  );
}

/** The source of that file, broken. */
export function mutate({ file, text, replacement }: Mutant): string {
  const source = readFileSync(join(root, file), "utf8");
  const found = source.split(text).length - 1;
  if (found !== 1) throw new Error(`${file} has this text ${found} times, and not once: ${text}`);
  return source.replace(text, () => replacement);
}

/** The mutants that no test noticed. Fails if a test fails without any mutant: it would notice everything. */
export async function survivors(mutants: readonly Mutant[], workers: number): Promise<Mutant[]> {
  const left = mutants.map((mutant) => ({ mutant, broken: mutate(mutant) }));
  using folder = temporaryFolder();
  const copies = Array.from({ length: workers }, (_, index) => copyTree(join(folder.path, String(index))));
  const tests = [...new Set(mutants.flatMap((mutant) => mutant.tests))];
  const failure = await failureOf(copies[0] ?? "", tests);
  if (failure !== undefined) throw new Error(`The tests fail without any mutant:\n${failure}`);
  const survived: Mutant[] = [];
  const work = async (copy: string): Promise<void> => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) {
      const { mutant, broken } = next;
      const { file, text, replacement } = mutant;
      writeFileSync(join(copy, file), broken);
      const isNoticed = (await failureOf(copy, mutant.tests)) !== undefined;
      cpSync(join(root, file), join(copy, file));
      if (!isNoticed) survived.push(mutant);
      console.error(`${isNoticed ? "noticed" : "SURVIVED"}: ${file}\n  - ${text}\n  + ${replacement}`);
    }
  };
  await Promise.all(copies.map(work));
  return survived;
}

/** All files that git knows or would add, with the dependencies linked. */
function copyTree(to: string): string {
  const listed = outputOf("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard"], root);
  // One that was deleted and not yet committed is listed too.
  for (const file of listed.split("\0").filter((name) => name !== "" && existsSync(join(root, name))))
    cpSync(join(root, file), join(to, file));
  symlinkSync(join(root, "node_modules"), join(to, "node_modules"));
  return to;
}

/** What was printed, unless these test files pass in that copy. */
async function failureOf(copy: string, tests: readonly string[]): Promise<string | undefined> {
  const child = spawn("node", ["scripts/test.js", ...tests, "--bail"], {
    cwd: copy,
    // Not what an outer run of tests has set.
    env: { PATH: process.env["PATH"], HOME: process.env["HOME"] },
    stdio: ["ignore", "pipe", "pipe"],
    // A test that hangs has noticed. In a group of its own, so that the processes of the tests end too.
    detached: true,
  });
  const late = setTimeout(() => process.kill(-(child.pid ?? 0), "SIGKILL"), fileMsMax * tests.length);
  const { code, output } = await finished(child);
  clearTimeout(late);
  return code === 0 ? undefined : output.replaceAll(/^\(pass\).*\n/gm, "");
}

if (import.meta.main) {
  const [text = ""] = process.argv.slice(2);
  const chosen = readMutants().filter(({ file }) => file.includes(text));
  if (chosen.length === 0) throw new Error(`No mutant is in a file whose path contains "${text}".`);
  const survived = await survivors(chosen, availableParallelism());
  console.log(`${chosen.length - survived.length} of ${chosen.length} mutants were noticed.`);
  process.exit(survived.length > 0 ? 1 : 0);
}
