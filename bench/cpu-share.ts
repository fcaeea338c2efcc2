import { existsSync, mkdirSync, rmdirSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { join } from "node:path";
import { isRoot } from "../test/support/postgres.ts";
import { MisusedError } from "./options.ts";

const root = "/sys/fs/cgroup";
// With a long one, a node would stand still for most of it, and requests through a proxy would wait for the nodes that stand still.
const periodUs = 10_000;

/** A cgroup whose processes together get a share of one core. Linux's two versions of it differ only in the names of files. */
export class CpuShare implements Disposable {
  readonly #folder: string;

  /** @throws MisusedError there are no cgroups, or only root may make one. */
  constructor(name: string, share: number) {
    const isVersion2 = existsSync(join(root, "cgroup.controllers"));
    this.#folder = join(root, isVersion2 ? "" : "cpu", `plant-store-${process.pid}-${name}`);
    const quotaUs = String(Math.round(share * periodUs));
    try {
      if (isVersion2) writeFileSync(join(root, "cgroup.subtree_control"), "+cpu");
      mkdirSync(this.#folder);
      if (isVersion2) writeFileSync(join(this.#folder, "cpu.max"), `${quotaUs} ${periodUs}`);
      else {
        writeFileSync(join(this.#folder, "cpu.cfs_period_us"), String(periodUs));
        writeFileSync(join(this.#folder, "cpu.cfs_quota_us"), quotaUs);
      }
    } catch (error) {
      const who = isRoot
        ? "this system lets nobody make a cgroup for the CPU"
        : "only root may make a cgroup";
      throw new MisusedError(
        `Each node gets a fixed share of a core, but ${who} (${(error as Error).message}).`,
      );
    }
  }

  /** Moves a process into it, with all of its threads. */
  add(pid: number): void {
    writeFileSync(join(this.#folder, "cgroup.procs"), String(pid));
  }

  /** Once its processes have ended. */
  [Symbol.dispose](): void {
    rmdirSync(this.#folder);
  }
}

/** The share of each node: four of them leave three quarters of the machine to PostgreSQL and the load. */
export const shareOfNode = 0.06 * cpus().length;
