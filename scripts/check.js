// Everything that must hold, in one command: format, lint, types, tests. `npm test` and CI run this and nothing else.
// Arguments go to the test runner: npm test -- test/framing.test.ts
import { spawnSync } from "node:child_process";
import { bunMissing, findBun } from "../bin/find-bun.js";
import { bringChromium } from "./chromium.js";
import { inParallel, runTests } from "./run-tests.js";

if (findBun() === undefined) fail(bunMissing);

const noBrowser = bringChromium();
const browserAdvice = "Install a Chromium, or name one in the variable CHROMIUM.";
if (noBrowser !== undefined && process.env.CI)
  fail(`There is no browser for the tests (${noBrowser}), and under CI they must all run. ${browserAdvice}`);

step("Format and lint", "node", ["node_modules/@biomejs/biome/bin/biome", "ci", "--error-on-warnings", "."]);
step("Types", "node", ["node_modules/typescript/bin/tsc"]);
step("Types of the console", "node", ["node_modules/typescript/bin/tsc", "--project", "src/console"]);
const chosen = process.argv.slice(2);
const code =
  chosen.length > 0 ? await runTests(chosen) : await runTests(["./src", "./test"], { flags: inParallel });
if (noBrowser !== undefined)
  console.log(`The browser tests were skipped: there is no browser (${noBrowser}). ${browserAdvice}`);
process.exit(code);

function step(name, command, args, options = {}) {
  const startMs = performance.now();
  const ran = spawnSync(command, args, { encoding: "utf8", maxBuffer: 1 << 28, ...options });
  if (ran.status !== 0) fail(`${name} failed.\n${ran.stdout ?? ""}${ran.stderr ?? ""}${ran.error ?? ""}`);
  console.log(`${name}: fine (${((performance.now() - startMs) / 1000).toFixed(1)} s)`);
}

function fail(message) {
  console.error(message);
  process.exit(1);
}
