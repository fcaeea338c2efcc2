#!/usr/bin/env node
// Starts the service under the Bun that npm installed, and is otherwise not there: the same input and output, the
// signals passed on, the exit code passed back.
import { spawn } from "node:child_process";
import { constants } from "node:os";
import { fileURLToPath } from "node:url";
import { bunFlags, bunMissing, findBun, processorTooOld } from "./find-bun.js";

const bun = findBun();
if (bun === undefined) {
  console.error(bunMissing);
  process.exit(1);
}

const main = fileURLToPath(new URL("../src/main.ts", import.meta.url));
// The channel carries nothing. Its end tells the service that this process is gone, however it ended, and that it must stop.
const stdio = ["inherit", "inherit", "inherit", "ipc"];
const child = spawn(bun, [...bunFlags, main, ...process.argv.slice(2)], { stdio });

// Listening also keeps this process alive until the child is done.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));

child.on("error", (error) => {
  console.error(`plant-store: Could not start ${bun}: ${error.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => {
  if (signal === "SIGILL") console.error(processorTooOld);
  process.exit(code ?? 128 + (constants.signals[signal] ?? 0));
});
