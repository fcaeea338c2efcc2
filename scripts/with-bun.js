// Runs a TypeScript file of this project under the Bun that npm installed: node scripts/with-bun.js FILE [ARGUMENT…]
import { spawnSync } from "node:child_process";
import { bunFlags, bunMissing, findBun } from "../bin/find-bun.js";
import { fail } from "./processes.js";

const bun = findBun();
if (bun === undefined) fail(bunMissing);
process.exit(spawnSync(bun, [...bunFlags, ...process.argv.slice(2)], { stdio: "inherit" }).status ?? 1);
