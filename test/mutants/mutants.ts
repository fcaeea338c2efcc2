// npm run mutants [-- TEXT]
// Breaks one line of the source at a time, in a copy of the tree, and runs the tests that should notice. Prints the mutants that
// survive, and exits with 1 if there are any. With a text, only those whose file contains it.
import { spawn, spawnSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { dirname, join } from "node:path";

export interface Mutant {
  readonly file: string;
  /** Found exactly once in the file. */
  readonly text: string;
  readonly replacement: string;
  /** The test files of which at least one must fail. */
  readonly tests: readonly string[];
}

export interface MutantsOptions {
  readonly root: string;
  /** How many run at a time, each in a copy of its own. */
  readonly workers?: number;
  readonly tell?: (line: string) => void;
  /** Whether these test files pass in that copy. */
  readonly passes?: typeof testsPass;
}

export const root = join(import.meta.dir, "../..");
const testsMsMax = 300_000;

export function readMutants(): Mutant[] {
  return JSON.parse(readFileSync(join(import.meta.dir, "mutants.json"), "utf8"));
}

export function mutate(source: string, { file, text, replacement }: Mutant): string {
  const found = source.split(text).length - 1;
  if (found !== 1) throw new Error(`${file} has this text ${found} times, and not once: ${text}`);
  return source.replace(text, () => replacement);
}

/** The mutants that no test noticed. Fails if a test fails without any mutant: it would notice everything. */
export async function survivors(
  mutants: readonly Mutant[],
  { root, workers = availableParallelism(), tell = () => {}, passes = testsPass }: MutantsOptions,
): Promise<Mutant[]> {
  const sources = new Map(mutants.map(({ file }) => [file, readFileSync(join(root, file), "utf8")]));
  const broken = mutants.map((mutant) => ({
    mutant,
    source: mutate(sources.get(mutant.file) ?? "", mutant),
  }));
  const folder = mkdtempSync(join(tmpdir(), "mutants-"));
  try {
    const copies = Array.from({ length: workers }, (_, index) => copyTree(root, join(folder, String(index))));
    const tests = [...new Set(mutants.flatMap((mutant) => mutant.tests))];
    const [first = ""] = copies;
    if (!(await passes(first, tests, tell))) throw new Error("The tests fail without any mutant; see above.");
    const survived: Mutant[] = [];
    let done = 0;
    const work = async (copy: string): Promise<void> => {
      for (let next = broken.shift(); next !== undefined; next = broken.shift()) {
        const { mutant, source } = next;
        writeFileSync(join(copy, mutant.file), source);
        const startMs = performance.now();
        const isSurvivor = await passes(copy, mutant.tests, () => {});
        writeFileSync(join(copy, mutant.file), sources.get(mutant.file) ?? "");
        if (isSurvivor) survived.push(mutant);
        const seconds = ((performance.now() - startMs) / 1000).toFixed(0);
        const outcome = isSurvivor ? "SURVIVED" : "noticed";
        tell(`${++done} of ${mutants.length}: ${outcome} in ${seconds} s: ${mutant.file}: ${mutant.text}`);
      }
    };
    await Promise.all(copies.map(work));
    return survived;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** All files that git knows or would add, with the dependencies linked. */
function copyTree(from: string, to: string): string {
  const { stdout } = spawnSync("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard"], {
    cwd: from,
    encoding: "utf8",
  });
  for (const file of stdout.split("\0").filter((name) => name !== "")) {
    mkdirSync(dirname(join(to, file)), { recursive: true });
    // One that was deleted and not yet committed is listed too.
    if (existsSync(join(from, file))) cpSync(join(from, file), join(to, file));
  }
  symlinkSync(join(from, "node_modules"), join(to, "node_modules"));
  return to;
}

function testsPass(
  folder: string,
  tests: readonly string[],
  onFailure: (output: string) => void,
): Promise<boolean> {
  return new Promise((resolve) => {
    const child = spawn("node", ["scripts/test.js", ...tests, "--bail"], {
      cwd: folder,
      // Not what an outer run of tests has set.
      env: { PATH: process.env["PATH"], HOME: process.env["HOME"] },
      stdio: ["ignore", "pipe", "pipe"],
      // A test that hangs has noticed. In a group of its own, so that the processes of the tests end too.
      detached: true,
    });
    let output = "";
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (text) => {
        output += text;
      });
    const late = setTimeout(() => process.kill(-(child.pid ?? 0), "SIGKILL"), testsMsMax);
    child.on("close", (code) => {
      clearTimeout(late);
      if (code !== 0) onFailure(output.replaceAll(/^\(pass\).*\n/gm, ""));
      resolve(code === 0);
    });
  });
}

if (import.meta.main) {
  const [text = ""] = process.argv.slice(2);
  const chosen = readMutants().filter(({ file }) => file.includes(text));
  const survived = await survivors(chosen, { root, tell: (line) => console.error(line) });
  for (const { file, text, replacement } of survived)
    console.log(`SURVIVED: ${file}\n  - ${text}\n  + ${replacement}`);
  console.log(`${chosen.length - survived.length} of ${chosen.length} mutants were noticed.`);
  process.exit(survived.length > 0 ? 1 : 0);
}
