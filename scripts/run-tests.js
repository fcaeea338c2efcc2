// Runs test files under the Bun that npm installed, and reports what failed and what was skipped.
import { spawn } from "node:child_process";
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { bunFlags, findBun } from "../bin/find-bun.js";

// Twice what a wait inside a test may take (test/harness.ts), so that the wait fails with its own error.
const testMsMax = 120_000;
// Many tests wait for a disk or another process, so more files than cores run at a time.
const filesAtOnce = 4;
// How long each file took when this was last written, by `npm test -- --update-timings`: the longest start first.
const timings = ownFile("../test/timings.json");

/**
 * Runs the tests in those files or folders and returns the result. `together` runs several files at a time, which share a
 * PostgreSQL and a Chromium, and prints only failures.
 */
export async function runTests(paths, { together = false, flags = [], environment = {} } = {}) {
  // The temporary directory of the run: whatever a test leaves there goes with it. Like the system's own, it is open to every
  // user, since PostgreSQL runs as another. Its name is short: the path of a socket has little more than 100 bytes.
  const folder = mkdtempSync(join(tmpdir(), "ps-"));
  chmodSync(folder, 0o1777);
  const report = join(folder, "report.xml");
  const variables = { ...process.env, TMPDIR: folder, PLANT_STORE_TEST_FOLDER: folder, ...environment };
  const servers = together ? await startServers(variables) : undefined;
  const tests = startBun(
    [
      "test",
      `--timeout=${testMsMax}`,
      `--preload=${ownFile("../test/preload.ts")}`,
      "--reporter=junit",
      `--reporter-outfile=${report}`,
      ...(together ? [`--parallel=${filesAtOnce}`, `--timings=${timings}`, "--only-failures"] : []),
      ...flags,
      ...paths,
    ],
    { ...variables, ...(servers && { PLANT_STORE_TEST_SERVERS: servers.address }) },
    ["ignore", "pipe", "pipe"],
  );
  // So that the servers end, and the folder is removed, after Ctrl-C too.
  for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => tests.kill(signal));
  const counts = {};
  for (const input of [tests.stdout, tests.stderr])
    createInterface({ input }).on("line", (line) => {
      const [, count, what] = /^ *(\d+) (pass|skip|fail|error)s?$/.exec(line) ?? [];
      if (what === undefined) printTests(line);
      else counts[what] = Number(count);
    });
  const code = await new Promise((resolve) => tests.on("close", (code) => resolve(code ?? 1)));
  const result = { code, counts, failed: failedIn(report), lacking: readLines(join(folder, "lacking")) };
  await servers?.stop();
  rmSync(folder, { recursive: true, force: true });
  if (flags.includes("--update-timings")) removeStaleTimings();
  return result;
}

/** What failed and how to run it alone, how many were skipped and why, and the line that CI reads. */
export function printSummary({ counts, failed, lacking }, problems = []) {
  for (const { file, names } of failed) {
    console.log(`Failed: ${file}: ${names.join(" > ")}`);
    console.log(`  npm test -- ${file} -t '${names.join(" ").replace(/[.*+?^${}()|[\]\\']/g, ".")}'`);
  }
  if (lacking.length > 0) console.log(`Skipped for lack of ${lacking.join(", ")}.`);
  for (const problem of problems) console.log(problem);
  const { pass = 0, fail = 0, skip = 0 } = counts;
  console.log(`${pass} passed, ${fail} failed, ${skip} skipped`);
}

function startBun(args, env, stdio) {
  return spawn(findBun(), [...bunFlags, ...args], { env, stdio });
}

async function startServers(env) {
  const child = startBun([ownFile("../test/shared-servers.ts")], env, ["pipe", "pipe", "inherit"]);
  const ended = new Promise((resolve) => child.on("close", resolve));
  const [address] = await Promise.race([
    createInterface({ input: child.stdout })
      [Symbol.asyncIterator]()
      .next()
      .then(({ value }) => [value]),
    ended.then(() => []),
  ]);
  return {
    address,
    stop() {
      child.stdin.end();
      return ended;
    },
  };
}

// What Bun prints besides: its version, what the summary has too, and all failures once more at the end.
const ofBun = /^(?:bun test v.*| *\d+ (?:filtered out|expect\(\) calls)|Ran \d+ tests? across.*)$/;
const repeated = /^\d+ tests? failed:$/;
let isRepeating = false;
let lastWasEmpty = true;

function printTests(line) {
  isRepeating ||= repeated.test(line);
  if (isRepeating || ofBun.test(line) || (line === "" && lastWasEmpty)) return;
  lastWasEmpty = line === "";
  console.log(line);
}

function failedIn(path) {
  const report = existsSync(path) ? readFileSync(path, "utf8") : "";
  return Array.from(report.matchAll(/<testcase ([^>]*)>\s*<(?:failure|error)/g), ([, attributes]) => {
    const [name, classname, file] = ["name", "classname", "file"].map((key) => attribute(attributes, key));
    // The class is the innermost `describe` first.
    return { file, names: [...classname.split(" > ").reverse(), name].filter((part) => part !== "") };
  });
}

function attribute(text, key) {
  const value = new RegExp(`(?:^| )${key}="([^"]*)"`).exec(text)?.[1] ?? "";
  const entities = { lt: "<", gt: ">", quot: '"', apos: "'", amp: "&" };
  return value.replace(/&(?:#(\d+)|(\w+));/g, (_, code, name) =>
    code ? String.fromCharCode(code) : entities[name],
  );
}

function readLines(path) {
  return existsSync(path) ? [...new Set(readFileSync(path, "utf8").trim().split("\n"))].sort() : [];
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
