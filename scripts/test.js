// npm test                  everything that must hold: format, lint, types, licences and the tests; CI runs this and nothing else
// npm test -- FILE… [FLAG…] only those tests; the flags are Bun's, such as -t NAME and --watch
// npm test -- --seed N      in the random order of an earlier run, which printed that seed
// npm run check             format, lint, types and licences alone
// npm run test:quick        the unit tests of what has changed, the rules of the codebase, and the contract on SQLite, in seconds
// npm run test:slow         test/slow/, what takes minutes or needs programs that few machines have; -- FILE… runs some of it
import { spawn, spawnSync } from "node:child_process";
import { randomInt } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { bunMissing, findBun } from "../bin/find-bun.js";
import { installChromium, installFirefox } from "./browsers.js";
import { fail, finished } from "./processes.js";
import { printSummary, runTests } from "./run-tests.js";
import { licenceProblems } from "./supply-chain.js";

// The commit at which all tests last passed.
const passedFile = "node_modules/.cache/passed-commit";
// What these tests compare with the documents: a page, or a catalogue that it lists.
const comparing = {
  "./test/docs.test.ts": /\.md$|^src\/(?:http\/error-catalogue|config\/settings|telemetry\/metrics)\.ts$/m,
  "./test/public/openapi.test.ts": /^src\/(?:http\/error-catalogue\.ts|public\/openapi\.json)$/m,
};

const [, , ...args] = process.argv;
const isCheck = take("--check");
const isQuick = take("--quick");
const isSlow = take("--slow");
const seed = takeSeed() ?? randomInt(1_000_000);
if (findBun() === undefined) fail(bunMissing);

// The text after -t is the name of a test.
const files = args.filter((argument, index) => !argument.startsWith("-") && args[index - 1] !== "-t");
// Bun runs the others without a word.
const unknown = files.filter((file) => !existsSync(file));
if (unknown.length > 0) fail(describeUnknown(unknown));
if (isCheck) {
  const problems = await check();
  if (problems.length > 0) fail(problems.join("\n"));
  console.log("Format, lint, types and licences: all is well.");
  process.exit();
}
console.log(`Random order, seed ${seed}`);
if (files.length > 0) end(await runTests(args, { seed }));
console.log("Until the end, only failures are printed.");
if (isQuick) end(await runQuick());
else {
  ensureBrowser();
  if (isSlow) end(await runSlow());
  else end(...(await runAll()));
}

async function runAll() {
  // Beside the tests, which often wait.
  const problems = check();
  const flags = ["--path-ignore-patterns=test/slow/**", ...args];
  const result = await runTests(["./src", "./test"], { together: true, flags, seed });
  if (result.code === 0 && (await problems).length === 0 && args.length === 0) recordPassed();
  return [result, await problems];
}

/** Settles with what is wrong. */
async function check() {
  // Left alone, Biome writes colours into a file too.
  const colours = process.stderr.isTTY ? [] : ["--colors=off"];
  const problems = await Promise.all([
    runTool("Format and lint", ["@biomejs/biome/bin/biome", "ci", "--error-on-warnings", ...colours, "."]),
    runTool("Types", types(".")),
    runTool("Types of the console", types("src/console")),
  ]);
  const licences = licenceProblems(JSON.parse(readFileSync("package-lock.json", "utf8")));
  return [...problems.filter((problem) => problem !== undefined), ...licences];
}

async function runQuick() {
  const always = ["./test/tidy.test.ts", "./test/public/contract.test.ts"];
  const run = (paths, ...flags) =>
    runTests(paths, {
      together: true,
      flags: [...flags, ...args],
      environment: { PLANT_STORE_TEST_ENGINES: "sqlite" },
      seed,
    });
  const base = ["origin/main", lastPassed(), "HEAD"].find((commit) => git("rev-parse", "--verify", commit));
  if (base === undefined) return run(["./src", ...always]);
  const changed = git("diff", "--name-only", base);
  always.push(...Object.keys(comparing).filter((test) => comparing[test].test(changed)));
  const units = await run(["./src"], `--changed=${base}`);
  if (units.selected > 0) {
    console.log(`${units.selected} files of tests in src/ import what has changed since ${base}.`);
    return joined(units, await run(always));
  }
  const why = changed === "" ? "Nothing has changed" : "No test in src/ imports what has changed";
  console.log(`${why} since ${base}, so all of src/ is tested.`);
  return run(["./src", ...always]);
}

function runSlow() {
  installFirefox();
  return runTests(["./test/slow"], { together: true, flags: args, seed });
}

/** The result of two runs as that of one. */
function joined(one, other) {
  const counts = Object.fromEntries(
    ["pass", "fail", "skip"].map((kind) => [kind, (one.counts[kind] ?? 0) + (other.counts[kind] ?? 0)]),
  );
  const lacking = [...new Set([...one.lacking, ...other.lacking])];
  return { code: one.code || other.code, counts, failed: [...one.failed, ...other.failed], lacking, seed };
}

function recordPassed() {
  mkdirSync(dirname(passedFile), { recursive: true });
  writeFileSync(passedFile, git("rev-parse", "HEAD"));
}

/** The commit at which all tests last passed, or "" if none is known. */
function lastPassed() {
  return existsSync(passedFile) ? readFileSync(passedFile, "utf8") : "";
}

/** What git prints; "" if it fails, such as outside a repository. */
function git(...words) {
  const { status, stdout } = spawnSync("git", words, { encoding: "utf8" });
  return status === 0 ? stdout.trim() : "";
}

/** Installs one if it can. */
function ensureBrowser() {
  const problem = installChromium();
  if (problem === undefined) return;
  const advice = "Install a Chromium, or name one in the variable CHROMIUM.";
  if (process.env.CI)
    fail(`There is no browser for the tests (${problem}), and under CI they must all run. ${advice}`);
  console.log(`There is no browser for the tests (${problem}). ${advice}`);
}

async function runTool(name, [program, ...options]) {
  const { code, output } = await finished(spawn(process.execPath, [`node_modules/${program}`, ...options]));
  return code === 0 ? undefined : `${name} failed.\n${output}`;
}

/** On one thread and with what it knows from last time, it takes half the CPU time. */
function types(project) {
  const known = `node_modules/.cache/types-of-${project.replace("/", "-")}.tsbuildinfo`;
  const options = ["--singleThreaded", "--incremental", "--tsBuildInfoFile", known];
  return ["typescript/bin/tsc", "--project", project, ...options];
}

function describeUnknown(names) {
  const text = `No such file: ${names.join(", ")}`;
  const value = names.find((name) => args[args.indexOf(name) - 1]?.startsWith("-"));
  if (value === undefined) return text;
  return `${text}\nThe value of a flag follows an equals sign: ${args[args.indexOf(value) - 1]}=${value}`;
}

function take(flag) {
  const at = args.indexOf(flag);
  if (at >= 0) args.splice(at, 1);
  return at >= 0;
}

/** The seed of `--seed N` or `--seed=N`, if there is one. */
function takeSeed() {
  const at = args.findIndex((argument) => argument === "--seed" || argument.startsWith("--seed="));
  if (at < 0) return undefined;
  const [flag] = args.splice(at, 1);
  const seed = flag === "--seed" ? args.splice(at, 1)[0] : flag.slice("--seed=".length);
  if (!/^\d{1,9}$/.test(seed ?? "")) fail("--seed needs a number of at most nine digits, such as --seed 11.");
  return Number(seed);
}

function end(result, problems = []) {
  printSummary(result, problems);
  process.exit(problems.length > 0 ? 1 : result.code);
}
