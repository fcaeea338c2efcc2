import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** Whether this machine can preload a shim of ours into a process: it needs Linux and a C compiler. */
export const canRecordSyncs = process.platform === "linux" && spawnSync("cc", ["--version"]).status === 0;

/** Records the syncs of a process that is started with this environment, and makes some of them fail, or hang, on demand. */
export function recordSyncs(folder: string, failSuffix: string, how?: "once" | "hang") {
  const library = buildShim("syncs", folder);
  const limit = { once: { FAIL_ONCE: "1" }, hang: { HANG: "1" }, all: {} }[how ?? "all"];
  const log = join(folder, "syncs.log");
  const when = join(folder, "fail-now");
  const seen = (from = 0) => {
    if (!existsSync(log)) return [];
    const lines = readFileSync(log, "utf8").trim().split("\n");
    return lines.slice(from).map((line) => {
      const [thread = "", ...path] = line.split(" ");
      return { thread, path: path.join(" ") };
    });
  };
  return {
    environment: { LD_PRELOAD: library, SYNC_LOG: log, FAIL_SUFFIX: failSuffix, FAIL_WHEN: when, ...limit },
    seen,
    paths: () => seen().map(({ path }) => path),
    /** From now on the syncs fail, or hang, as `how` says. */
    injectFault: () => writeFileSync(when, ""),
    removeFault: () => rmSync(when, { force: true }),
  };
}

/**
 * The library of a shim in test/shims/. Built once for a run of the tests, in the folder that scripts/run-tests.js creates,
 * otherwise in the given one; several files may do it at the same time.
 */
export function buildShim(name: "syncs" | "kill-at", folder: string): string {
  const source = fileURLToPath(new URL(`../shims/${name}.c`, import.meta.url));
  const library = join(process.env["PLANT_STORE_TEST_FOLDER"] ?? folder, `${name}.so`);
  if (existsSync(library)) return library;
  const made = `${library}.${process.pid}`;
  const built = spawnSync("cc", ["-O1", "-shared", "-fPIC", "-o", made, source, "-ldl"], {
    encoding: "utf8",
  });
  if (built.status !== 0) throw new Error(built.stderr);
  renameSync(made, library);
  return library;
}
