// npm test                  everything that must hold: format, lint, types, licences and the tests; CI runs this and nothing else
// npm test -- FILE… [FLAG…] only those tests; the flags are Bun's, such as -t NAME and --watch
// npm test -- --seed N      in the random order of an earlier run, which printed that seed
// npm run check             format, lint, types and licences alone
// npm run test:quick        unit tests and the contract on SQLite, in seconds
// npm run test:slow         test/slow/, what takes minutes or needs programs that few machines have; -- FILE… runs some of it
import { spawn } from "node:child_process";
import { randomInt } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { bunMissing, findBun } from "../bin/find-bun.js";
import { installChromium, installFirefox } from "./browsers.js";
import { fail, finished } from "./processes.js";
import { printSummary, runTests } from "./run-tests.js";
import { licenceProblems } from "./supply-chain.js";

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
if (files.length > 0) end(await runTests(args, { seed }));
else if (isCheck) {
  const problems = await check();
  if (problems.length > 0) fail(problems.join("\n"));
} else if (isQuick) end(await runQuick());
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

function runQuick() {
  const environment = { PLANT_STORE_TEST_ENGINES: "sqlite" };
  return runTests(["./src", "./test/public/contract.test.ts", "./test/tidy.test.ts"], {
    together: true,
    flags: args,
    environment,
    seed,
  });
}

function runSlow() {
  installFirefox();
  return runTests(["./test/slow"], { together: true, flags: args, seed });
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
