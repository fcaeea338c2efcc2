// npm run test:alone [-- FILE…]
// Runs every test by itself, in a process of its own, and prints those that fail: they need something that a neighbour leaves
// behind. Without a file it runs all that `npm test` does, for which it needs about a quarter of an hour.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { bunMissing, findBun } from "../bin/find-bun.js";
import { fail, finished } from "./processes.js";
import { countsIn, lackingIn, patternOf, printSummary, startRun, startTests, testsIn } from "./run-tests.js";

const testsAtOnce = 4;

const files = process.argv.slice(2);
const unknown = files.filter((file) => !existsSync(file));
if (findBun() === undefined) fail(bunMissing);
if (unknown.length > 0) fail(`No such file: ${unknown.join(", ")}`);

const run = await startRun({ sharesServers: true });
const interruption = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => interruption.abort());

const tests = await listTests(files.length > 0 ? files : ["./src", "./test"]);
const left = [...tests.entries()];
const counts = { pass: 0, fail: 0, skip: 0 };
const failed = [];
await Promise.all(Array.from({ length: testsAtOnce }, runNext));
const lacking = lackingIn(run);
await run.end();
printSummary({ counts, failed, lacking });
process.exit(failed.length > 0 || interruption.signal.aborted || tests.length === 0 ? 1 : 0);

/** The tests of these files. A pattern that no title matches has Bun report each of them without running it. */
async function listTests(paths) {
  const { report, output } = await runBun("list", [
    "--path-ignore-patterns=test/slow/**",
    "-t",
    "^$",
    ...paths,
  ]);
  const found = testsIn(report);
  if (found.length === 0) console.log(output);
  return found;
}

async function runNext() {
  while (left.length > 0 && !interruption.signal.aborted) {
    const [index, test] = left.shift();
    const { code, output } = await runBun(index, [test.file, "-t", patternOf(test)]);
    const { pass = 0 } = countsIn(output);
    const title = test.names.join(" > ");
    if (code === 0 && pass === 1) {
      counts.pass++;
    } else if (code === 0 && pass === 0 && output.includes(`(skip) ${title}`)) {
      counts.skip++;
    } else {
      counts.fail++;
      failed.push(test);
      console.log(code === 0 ? `${pass} tests have this title: ${title}` : output);
    }
  }
}

async function runBun(name, flagsAndPaths) {
  const report = join(run.folder, `report-${name}.xml`);
  const child = startTests(run, report, flagsAndPaths);
  return { report, ...(await finished(child)) };
}
