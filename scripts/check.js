// Everything that must hold, in one command: format, lint, types, licences, tests. `npm test` and CI run this and nothing else.
// Arguments go to the test runner: npm test -- test/framing.test.ts
import { spawn } from "node:child_process";
import { bunMissing, findBun } from "../bin/find-bun.js";
import { installChromium } from "./chromium.js";
import { inParallel, removeStaleTimings, runTests } from "./run-tests.js";

if (findBun() === undefined) fail(bunMissing);

const noBrowser = installChromium();
const browserAdvice = "Install a Chromium, or name one in the variable CHROMIUM.";
if (noBrowser !== undefined && process.env.CI)
  fail(`There is no browser for the tests (${noBrowser}), and under CI they must all run. ${browserAdvice}`);

const tsc = "node_modules/typescript/bin/tsc";
const checks = [
  check("Format and lint", ["node_modules/@biomejs/biome/bin/biome", "ci", "--error-on-warnings", "."]),
  check("Types", [tsc]),
  check("Types of the console", [tsc, "--project", "src/console"]),
  check("Licences", ["scripts/supply-chain.js", "licences"]),
];
const args = process.argv.slice(2);
const named = args.some((argument) => !argument.startsWith("-"));
const code = await (named
  ? runTests(args)
  : runTests(["./src", "./test"], { flags: [...inParallel, ...args], retryAlone: true }));
if (args.includes("--update-timings")) removeStaleTimings();
const failed = (await Promise.all(checks)).filter((name) => name !== undefined);
if (failed.length > 0) console.error(`Failed: ${failed.join(", ")}; see above.`);
if (noBrowser !== undefined)
  console.log(`The browser tests were skipped: there is no browser (${noBrowser}). ${browserAdvice}`);
process.exit(failed.length > 0 ? 1 : code);

/** Runs in parallel with the tests, which mostly wait. Settles with its name if it fails. */
function check(name, args) {
  return new Promise((resolve) => {
    const startMs = performance.now();
    let output = "";
    const child = spawn("node", args);
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (text) => {
        output += text;
      });
    child.on("close", (code) => {
      const seconds = ((performance.now() - startMs) / 1000).toFixed(1);
      console.log(code === 0 ? `${name}: passed (${seconds} s)` : `${name} failed.\n${output}`);
      resolve(code === 0 ? undefined : name);
    });
  });
}

function fail(message) {
  console.error(message);
  process.exit(1);
}
