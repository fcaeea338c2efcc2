import { spawnSync } from "node:child_process";
import { appendFileSync } from "node:fs";
import { join } from "node:path";

/** For `skipIf`: whether this machine lacks something that a test needs. The summary of the run names it. */
export function lacks(what: string, isMissing: boolean): boolean {
  const folder = process.env["PLANT_STORE_TEST_FOLDER"];
  if (isMissing && folder !== undefined) appendFileSync(join(folder, "lacking"), `${what}\n`);
  return isMissing;
}

/** A file system of its own needs a mount namespace, which some containers do not allow. */
export function lacksMounts(): boolean {
  const { status } = spawnSync("unshare", ["-rm", "mount", "-t", "tmpfs", "none", "/mnt"]);
  return lacks("a mount namespace", status !== 0);
}
