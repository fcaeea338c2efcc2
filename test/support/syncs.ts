import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Serving, serve } from "./command.ts";
import { lacks } from "./lacks.ts";
import { buildShim } from "./shims.ts";
import { bothTokensEnvironment } from "./tokens.ts";

/** Whether this machine can preload a shim of ours into a process: it needs Linux and a C compiler. */
export const canRecordSyncs = process.platform === "linux" && spawnSync("cc", ["--version"]).status === 0;

/** For `skipIf`: whether `recordSyncs` cannot work here. */
export function lacksSyncShim(): boolean {
  return lacks("Linux with a C compiler, to record fsyncs", !canRecordSyncs);
}

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

/** Starts `serve` on the data file, with its syncs recorded. */
export function serveRecorded(
  file: string,
  syncs: ReturnType<typeof recordSyncs>,
  ...flags: string[]
): Promise<Serving> {
  const environment = { ...bothTokensEnvironment, ...syncs.environment };
  return serve(["--database", file, ...flags], { environment });
}
