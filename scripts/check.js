// Everything that must hold, in one command: format, lint, types, tests. `npm test` and CI run this and nothing else.
// Arguments go to the test runner: npm test -- test/framing.test.ts
import { spawn, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { bunFlags, bunMissing, findBun } from "../bin/find-bun.js";

// Far above what any test takes: a busy machine is slow, and only one that hangs is at fault.
const testMsMax = 60_000;

const bun = findBun();
if (bun === undefined) fail(bunMissing);

step("Format and lint", "node", ["node_modules/@biomejs/biome/bin/biome", "ci", "--error-on-warnings", "."]);
step("Types", "node", ["node_modules/typescript/bin/tsc"]);
step("Types of the console", "node", [
  "node_modules/typescript/bin/tsc",
  "--project",
  "src/operator/console",
]);
bringChromium();
runTests();

function runTests() {
  const chosen = process.argv.slice(2);
  const paths = chosen.length > 0 ? chosen : ["./src", "./test"];
  const tests = spawn(bun, [...bunFlags, "test", "--timeout", String(testMsMax), ...paths], {
    stdio: ["ignore", "inherit", "pipe"],
  });
  let said = "";
  tests.stderr.on("data", (text) => {
    said += text;
    process.stderr.write(text);
  });
  tests.on("close", (code) => {
    const count = (word) => Number(new RegExp(`^\\s*(\\d+) ${word}$`, "m").exec(said)?.[1] ?? 0);
    const skipped = count("skip");
    console.log(
      `${count("pass")} passed, ${count("fail")} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`,
    );
    process.exit(code ?? 1);
  });
}

// The docs page is tested in a real browser. Where we may, we install Debian's.
function bringChromium() {
  const places = [
    process.env.CHROMIUM,
    "/usr/bin/chromium",
    "/usr/bin/chromium-browser",
    "/usr/bin/google-chrome",
  ];
  if (places.some((place) => place && existsSync(place)) || process.platform !== "linux") return;
  if (process.getuid?.() !== 0 || !existsSync("/usr/bin/apt-get")) {
    fail("The tests need a Chromium: install your system's package, or name one in the variable CHROMIUM.");
  }
  console.log("Installing Chromium from Debian's packages for the browser tests; this takes a minute, once.");
  const quiet = { env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" } };
  step("apt-get update", "apt-get", ["update", "-qq"], quiet);
  step(
    "apt-get install chromium",
    "apt-get",
    ["install", "-y", "-qq", "--no-install-recommends", "chromium"],
    quiet,
  );
}

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
