// npm run test:one -- FILE…   some test files, without format, lint and types
// npm run test:quick          unit tests and the contract on SQLite, in seconds
// npm run test:watch          the same again whenever a file changes
import { inParallel, runTests } from "./run-tests.js";

const quick = ["./src", "./test/contract.test.ts", "./test/tidy.test.ts"];
const sqliteAlone = { PLANT_STORE_TEST_ENGINES: "sqlite" };

const [kind, ...files] = process.argv.slice(2);
if (kind === "one" && files.length > 0) process.exit(await runTests(files));
if (kind === "quick") process.exit(await runTests(quick, { flags: inParallel, environment: sqliteAlone }));
if (kind === "watch")
  process.exit(
    await runTests(files.length > 0 ? files : quick, { flags: ["--watch"], environment: sqliteAlone }),
  );
console.error("Name the test files: npm run test:one -- test/contract.test.ts");
process.exit(2);
