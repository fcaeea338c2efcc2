import { spawnSync } from "node:child_process";
import { join } from "node:path";

/** Runs test files in a run of their own, for instance on another engine, and returns what it printed if it failed. */
export function runNested(files: readonly string[], environment: Record<string, string>): string {
  const { status, stdout, stderr } = spawnSync("node", ["scripts/test.js", ...files], {
    cwd: join(import.meta.dir, "../.."),
    env: { PATH: process.env["PATH"], HOME: process.env["HOME"], ...environment },
    encoding: "utf8",
  });
  return status === 0 ? "" : stdout + stderr;
}
