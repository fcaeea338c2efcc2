import { existsSync, readdirSync, readlinkSync } from "node:fs";
import { lacks } from "./lacks.ts";

/** For `skipIf`: only Linux lists the descriptors of a process as files. */
export function lacksDescriptors(): boolean {
  return lacks("/proc/self/fd", !existsSync("/proc/self/fd"));
}

/** How many descriptors of this process are of that file. */
export function openDescriptors(path: string): number {
  const targets = readdirSync("/proc/self/fd").map((name) => {
    try {
      return readlinkSync(`/proc/self/fd/${name}`);
    } catch {
      // It was closed meanwhile, such as the one that listed the folder.
      return undefined;
    }
  });
  return targets.filter((target) => target === path).length;
}
