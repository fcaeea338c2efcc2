// Runs test files under the Bun that npm installed, and reports what failed and what was skipped.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { bunFlags, findBun } from "../bin/find-bun.js";
import { finished } from "./processes.js";

// Twice what a wait inside a test may take (test/support/eventually.ts), so that the wait fails with its own error.
const testMsMax = 120_000;
// Many tests wait for a disk or another process, so more files than cores run at a time.
const filesAtOnce = 6;
// How long each file took when this was last written, by `npm test -- --update-timings`: the longest start first.
const timings = ownFile("../test/timings.json");
// What Bun prints besides the tests: its version, and what the summary has too.
const ofBun =
  /^(?:bun test v.*|--changed: .*| *\d+ (?:filtered out|expect\(\) calls)| --seed=\d+|Ran \d+ tests? across.*)$/;
// How many files of tests the flag --changed selects: those that import a changed file.
const selection = /^--changed: .*running (\d+)\/\d+ test files?$/;
// After this line, Bun prints all failures once more.
const repeated = /^\d+ tests? failed:$/;
// How a test ended, by the element of its report.
const outcomes = { failure: "failed", error: "failed", skipped: "skipped" };

/**
 * Runs the tests in those files or folders and returns the result. `together` runs several files at a time, which share a
 * PostgreSQL and a Chromium, and prints only failures. The tests of a file, and its `describe` blocks, run in the random order
 * that the seed gives: it is the same each time, whichever other files run.
 */
export async function runTests(paths, { together = false, flags = [], environment = {}, seed }) {
  const run = await startRun({ sharesServers: together, environment });
  const order = ["--randomize", `--seed=${seed}`];
  const parallel = [`--parallel=${filesAtOnce}`, `--timings=${timings}`, "--only-failures"];
  const report = join(run.folder, "report.xml");
  const tests = startTests(run, report, [...order, ...(together ? parallel : []), ...flags, ...paths]);
  // So that the servers end, and the folder is removed, after Ctrl-C too.
  for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => tests.kill(signal));
  const counts = {};
  let selected = 0;
  const printLine = linePrinter();
  for (const input of [tests.stdout, tests.stderr])
    createInterface({ input }).on("line", (line) => {
      selected += Number(selection.exec(line)?.[1] ?? 0);
      const counted = countsIn(line);
      Object.assign(counts, counted);
      if (Object.keys(counted).length === 0) printLine(line);
    });
  const { code } = await finished(tests);
  const failed = testsIn(report).filter(({ outcome }) => outcome === "failed");
  const lacking = lackingIn(run);
  await run.end();
  if (flags.includes("--update-timings")) removeStaleTimings();
  return { code, counts, selected, failed, lacking, seed };
}

/** What failed and how to run it alone, how many were skipped and why, and the line that CI reads. */
export function printSummary({ counts, failed, lacking, seed }, problems = []) {
  for (const test of failed) {
    console.log(`Failed: ${test.file}: ${test.names.join(" > ")}`);
    console.log(`  npm test -- ${test.file} -t '${patternOf(test)}'`);
  }
  const files = [...new Set(failed.map(({ file }) => file))];
  if (files.length > 0 && seed !== undefined)
    console.log(`In the same order again:\n  npm test -- ${files.join(" ")} --seed ${seed}`);
  if (lacking.length > 0) console.log(`Skipped for lack of ${lacking.join(", ")}.`);
  for (const problem of problems) console.log(problem);
  const { pass = 0, fail = 0, skip = 0 } = counts;
  console.log(`${pass} passed, ${fail} failed, ${skip} skipped`);
}

/** What the files of a run share: a temporary folder and, if asked for, the servers. */
async function startRun({ sharesServers, environment = {} }) {
  // The temporary directory of the run: whatever a test leaves there goes with it. Like the system's own, it is open to every
  // user, since PostgreSQL runs as another. Its name is short: the path of a socket has little more than 100 bytes.
  const folder = mkdtempSync(join(tmpdir(), "ps-"));
  chmodSync(folder, 0o1777);
  const variables = { ...process.env, TMPDIR: folder, PLANT_STORE_TEST_FOLDER: folder, ...environment };
  const servers = sharesServers ? await startServers(variables) : undefined;
  if (servers !== undefined) variables.PLANT_STORE_TEST_SERVERS = servers.address;
  return {
    folder,
    variables,
    async end() {
      await servers?.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Starts Bun on the tests that these flags and paths name. It writes what became of each into the report. */
function startTests({ variables }, report, flagsAndPaths) {
  const flags = [
    `--timeout=${testMsMax}`,
    `--preload=${ownFile("../test/support/preload.ts")}`,
    "--reporter=junit",
    `--reporter-outfile=${report}`,
  ];
  return startBun(["test", ...flags, ...flagsAndPaths], variables, ["ignore", "pipe", "pipe"]);
}

/** How many tests passed, were skipped and failed, as Bun prints it at the end: ` 57 pass`. */
function countsIn(output) {
  const counted = output.matchAll(/^ *(\d+) (pass|skip|fail|error)s?$/gm);
  return Object.fromEntries(Array.from(counted, ([, count, what]) => [what, Number(count)]));
}

/** The regular expression, for Bun's `-t`, that no other test of its file matches. */
function patternOf({ names }) {
  const escaped = names.join(" ").replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  // An apostrophe would end the word in a shell, and a line break the line: any character matches there.
  return `^${escaped.replace(/['\n]/g, "[^]")}$`;
}

/** The tests of a report: where each is, the titles from the outermost `describe` to its own, and how it ended. */
function testsIn(report) {
  const text = existsSync(report) ? readFileSync(report, "utf8") : "";
  return Array.from(
    text.matchAll(/<testcase ([^>]*)>(?:\s*<(failure|error|skipped))?/g),
    ([, attributes, tag]) => {
      // The class is the innermost `describe` first.
      const groups = attribute(attributes, "classname").split(" > ").reverse();
      const names = [...groups, attribute(attributes, "name")].filter((part) => part !== "");
      return { file: attribute(attributes, "file"), names, outcome: outcomes[tag] ?? "passed" };
    },
  );
}

/** What this machine lacks, so that tests were skipped. */
function lackingIn({ folder }) {
  const path = join(folder, "lacking");
  return existsSync(path) ? [...new Set(readFileSync(path, "utf8").trim().split("\n"))].sort() : [];
}

function startBun(args, env, stdio) {
  return spawn(findBun(), [...bunFlags, ...args], { env, stdio });
}

async function startServers(env) {
  const child = startBun([ownFile("../test/support/shared-servers.ts")], env, ["pipe", "pipe", "inherit"]);
  const ended = once(child, "close");
  const failed = ended.then(() => {
    throw new Error("The servers that the tests share did not start.");
  });
  const printed = once(createInterface({ input: child.stdout }), "line");
  const [address] = await Promise.race([printed, failed]);
  return {
    address,
    stop() {
      child.stdin.end();
      return ended;
    },
  };
}

/** Prints the lines of Bun that are about tests: no failure twice, and no two empty lines in a row. */
function linePrinter() {
  let isRepeating = false;
  let lastWasEmpty = true;
  return (line) => {
    isRepeating ||= repeated.test(line);
    if (isRepeating || ofBun.test(line) || (line === "" && lastWasEmpty)) return;
    lastWasEmpty = line === "";
    console.log(line);
  };
}

function attribute(text, key) {
  const value = new RegExp(`(?:^| )${key}="([^"]*)"`).exec(text)?.[1] ?? "";
  const entities = { lt: "<", gt: ">", quot: '"', apos: "'", amp: "&" };
  return value.replace(/&(?:#(\d+)|(\w+));/g, (_, code, name) =>
    code ? String.fromCharCode(code) : entities[name],
  );
}

/** Bun adds the files of a run to the recorded times, and leaves those that no longer exist. */
function removeStaleTimings() {
  const recorded = JSON.parse(readFileSync(timings, "utf8"));
  const files = Object.entries(recorded.files).filter(([file]) => existsSync(file));
  const longestFirst = files.sort(([, one], [, other]) => other - one);
  const text = JSON.stringify({ ...recorded, files: Object.fromEntries(longestFirst) }, null, 2);
  writeFileSync(timings, `${text}\n`);
}

function ownFile(name) {
  return fileURLToPath(new URL(name, import.meta.url));
}
