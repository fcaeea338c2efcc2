import { dlopen, FFIType } from "bun:ffi";
import { spawnSync } from "node:child_process";
import { closeSync, mkdirSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Serving } from "../command.ts";
import { eventually, storedPlants, temporaryFolder } from "../harness.ts";
import { Clients, type Figures, type SoakRun, serveOn } from "./rounds.ts";

const clients = 32;
const loadedMsMax = 400;
const zram = "/sys/class/zram-control";
const diskBytes = 600 * 1024 * 1024;
// What the disk may still grow: a write of a block that it has takes the space of the new one before it frees that of the old one.
const spareBytes = 128 * 1024;
// _IOR('X', 125, __u32), and the flag that leaves the journal unwritten.
const ext4Shutdown = 0x8004587d;
const withoutJournal = 2;

/** Why there can be no real ext4 here; undefined if there can. */
export async function whyNoExt4(): Promise<string | undefined> {
  if (process.platform !== "linux" || process.getuid?.() !== 0) return "it needs root on Linux";
  try {
    await new Ext4().unmount();
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

export type Found = Pick<Figures, "rounds" | "acknowledged" | "lost">;

/**
 * Loads a service on such a disk, lets `harm` do it harm and count what is lost already, and compares again with what is really on the
 * disk. Ends with the first loss, and leaves the disk mounted for a look, unless the environment makes it a control, which is meant
 * to lose plants.
 */
export async function runOnExt4(
  { rounds, random, tell }: SoakRun,
  harm: (loaded: { disk: Ext4; database: string; serving: Serving; load: Clients }) => Promise<number>,
  control?: Record<string, string>,
): Promise<Found> {
  const disk = new Ext4();
  tell(`mounted: ${disk.path}`);
  const database = join(disk.path, "plants.db");
  let service: Serving | undefined;
  await using load = new Clients(clients, () => service?.url);
  let [round, lost] = [0, 0];
  while (round < rounds && lost === 0) {
    {
      await using serving = await serveOn(database, control);
      service = serving;
      load.paused = false;
      await load.acknowledgedAgain();
      await Bun.sleep(random() * loadedMsMax);
      lost += await harm({ disk, database, serving, load });
    }
    service = undefined;
    await disk.remount();
    lost += await lostOn(database, load);
    tell(`round ${++round} of ${rounds}: ${load.acknowledged} acknowledged, ${lost} lost`);
  }
  if (lost === 0 || control !== undefined) await disk.unmount();
  return { rounds: round, acknowledged: load.acknowledged, lost };
}

/** Where the service does not start, all is lost. */
async function lostOn(database: string, load: Clients): Promise<number> {
  try {
    await using _ = await serveOn(database);
    return await load.lostIn(() => storedPlants(database));
  } catch (error) {
    console.error(error);
    return load.acknowledged;
  }
}

/**
 * A real ext4 on a disk in memory, whose size has a limit. Not a loop device on a full tmpfs: Linux 6.18 reports a write as done that
 * ran out of space in the middle.
 */
class Ext4 {
  readonly #folder = temporaryFolder();
  readonly #number = readFileSync(`${zram}/hot_add`, "utf8").trim();
  readonly #device = `/dev/zram${this.#number}`;
  readonly path = join(this.#folder.path, "disk");

  constructor() {
    mkdirSync(this.path);
    this.#set("disksize", diskBytes);
    run("mkfs.ext4", "-q", this.#device);
    this.#mount();
  }

  /** Shuts the file system down without writing the page cache, like a power loss. */
  losePower(): void {
    const { symbols } = dlopen("libc.so.6", {
      ioctl: { args: [FFIType.i32, FFIType.u64, FFIType.ptr], returns: FFIType.i32 },
    });
    const handle = openSync(this.path, "r");
    const status = symbols.ioctl(handle, BigInt(ext4Shutdown), new Uint32Array([withoutJournal]));
    closeSync(handle);
    if (status !== 0) throw new Error("the file system could not be shut down");
  }

  /** The disk may not grow, so that most writes of new blocks fail, and those of blocks that it has mostly do not. */
  failWrites(): void {
    const usedBytes = Number(
      readFileSync(`/sys/block/zram${this.#number}/mm_stat`, "utf8").trim().split(/ +/)[2],
    );
    this.#set("mem_limit", usedBytes + spareBytes);
  }

  allowWrites(): void {
    this.#set("mem_limit", 0);
  }

  /** Only what is really on the disk remains. */
  async remount(): Promise<void> {
    // A process that was just killed may take a moment to close its files.
    await eventually(() => spawnSync("umount", [this.path]).status === 0, "umount");
    // Exit code 1 means that errors were corrected.
    const { status, stdout } = spawnSync("e2fsck", ["-fy", this.#device], { encoding: "utf8" });
    if ((status ?? 8) > 1) throw new Error(stdout);
    this.#mount();
  }

  async unmount(): Promise<void> {
    await eventually(() => spawnSync("umount", [this.path]).status === 0, "umount");
    writeFileSync(`${zram}/hot_remove`, this.#number);
    this.#folder[Symbol.dispose]();
  }

  #mount(): void {
    run("mount", this.#device, this.path);
  }

  #set(name: string, value: number): void {
    writeFileSync(`/sys/block/zram${this.#number}/${name}`, String(value));
  }
}

function run(command: string, ...args: string[]): void {
  const { status, stderr, error } = spawnSync(command, args, { encoding: "utf8" });
  if (status !== 0) throw new Error(`${command} failed: ${error?.message ?? stderr.trim()}`);
}
