// npm run test:one -- FILE…   some test files, without format, lint and types
// npm run test:quick          unit tests and the contract on SQLite, in seconds
// npm run test:built          the tests of a running service, against the single executable that npm run build makes
// npm run test:citus          contract, races, replays, operator reads, tokens, copy and the loss of a worker on Citus, if installed
// npm run test:browsers       the console in Firefox and WebKit, which it installs as root on Debian
// npm run test:watch          the same again whenever a file changes
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { installBrowsers } from "./browsers.js";
import { inParallel, runTests } from "./run-tests.js";

const quick = ["./src", "./test/contract.test.ts", "./test/tidy.test.ts"];
// Those whose services and commands are separate processes.
const ofBuilt = [
  "built",
  "command-line",
  "console",
  "console-work",
  "contract",
  "current-folder",
  "data-file",
  "durability",
  "exactness",
  "failed-syncs",
  "import",
  "looking-commands",
].map((name) => `./test/${name}.test.ts`);
const onCitus = [
  "citus.ts",
  ...[
    "concurrency",
    "contract",
    "copy",
    "exactness",
    "following",
    "hostile-tokens",
    "operator-api",
    "stores",
  ].map((name) => `${name}.test.ts`),
].map((file) => `./test/${file}`);
const sqliteAlone = { PLANT_STORE_TEST_ENGINES: "sqlite" };

const [kind, ...files] = process.argv.slice(2);
if (kind === "one" && files.length > 0) process.exit(await runTests(files));
if (kind === "quick") {
  // Unit tests share no state, and loading the modules again for each file takes a third of the time.
  const flags = [...inParallel, "--no-isolate"];
  process.exit(await runTests(quick, { flags, environment: sqliteAlone }));
}
if (kind === "built") {
  const built = spawnSync(process.execPath, ["scripts/with-bun.js", "scripts/build.ts"], {
    stdio: "inherit",
  });
  if (built.status !== 0) process.exit(built.status ?? 1);
  const environment = { PLANT_STORE_TEST_EXECUTABLE: resolve("dist/plant-store"), ...sqliteAlone };
  process.exit(await runTests(ofBuilt, { flags: inParallel, environment }));
}
if (kind === "citus") {
  if (!citusIsInstalled()) {
    console.log(
      "Skipped: the PostgreSQL that pg_config names has no Citus; docs/scaling.md says how it was built.",
    );
    process.exit(0);
  }
  process.exit(await runTests(onCitus, { environment: { PLANT_STORE_TEST_ENGINES: "citus" } }));
}
if (kind === "browsers") {
  installBrowsers();
  process.exit(await runTests(["./test/browsers.ts"]));
}
if (kind === "watch")
  process.exit(
    await runTests(files.length > 0 ? files : quick, { flags: ["--watch"], environment: sqliteAlone }),
  );
console.error("Name the test files: npm run test:one -- test/contract.test.ts");
process.exit(2);

function citusIsInstalled() {
  const { stdout } = spawnSync("pg_config", ["--sharedir"], { encoding: "utf8" });
  return existsSync(join((stdout ?? "").trim(), "extension/citus.control"));
}
