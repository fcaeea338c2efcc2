import { spawnSync } from "node:child_process";
import { appendFileSync } from "node:fs";
import { join } from "node:path";

/** For `skipIf`: whether this machine lacks something that a test needs. The summary of the run names it. */
export function lacks(what: string, isMissing: boolean): boolean {
  const folder = process.env["PLANT_STORE_TEST_FOLDER"];
  if (isMissing && folder !== undefined) appendFileSync(join(folder, "lacking"), `${what}\n`);
  return isMissing;
}

/** For `skipIf`: whether this machine lacks a program. */
export function lacksProgram(name: string): boolean {
  return lacks(name, Bun.which(name) === null);
}

/** For a shell in a mount namespace: mounts a folder on which every system call hangs, until the process and its children end. */
export const mountHanging = (folder: string) =>
  // Nobody reads the requests from the device.
  `exec 3<>/dev/fuse && mount -i -t fuse -o fd=3,rootmode=40000,user_id=0,group_id=0 none ${folder}`;

export function lacksFuse(): boolean {
  const { status } = spawnSync("unshare", ["-rm", "sh", "-c", mountHanging("/mnt")]);
  return lacks("FUSE in a mount namespace", status !== 0);
}

/** A file system of its own needs a mount namespace, which some containers do not allow. */
export function lacksMounts(): boolean {
  const { status } = spawnSync("unshare", ["-rm", "mount", "-t", "tmpfs", "none", "/mnt"]);
  return lacks("a mount namespace", status !== 0);
}
