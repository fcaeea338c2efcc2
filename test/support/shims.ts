import { spawnSync } from "node:child_process";
import { existsSync, renameSync } from "node:fs";
import { join } from "node:path";

/**
 * The library of a shim in test/shims/, to be preloaded. Built once for a run of the tests, in the folder that
 * scripts/run-tests.js creates, otherwise in the given one; several files may do it at the same time. Needs a C compiler.
 */
export function buildShim(name: "kill-at" | "power-syncs" | "slow-sync" | "syncs", folder: string): string {
  const source = join(import.meta.dir, `../shims/${name}.c`);
  const library = join(process.env["PLANT_STORE_TEST_FOLDER"] ?? folder, `${name}.so`);
  if (existsSync(library)) return library;
  const made = `${library}.${process.pid}`;
  const built = spawnSync("cc", ["-O1", "-shared", "-fPIC", "-o", made, source, "-ldl"], {
    encoding: "utf8",
  });
  if (built.status !== 0)
    throw new Error(`cc, the C compiler, did not build ${source}: ${built.error?.message ?? built.stderr}`);
  renameSync(made, library);
  return library;
}
