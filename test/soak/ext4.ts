import { dlopen, FFIType } from "bun:ffi";
import { spawnSync } from "node:child_process";
import { closeSync, ftruncateSync, mkdirSync, openSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Serving } from "../command.ts";
import { eventually, storedPlants, temporaryFolder } from "../harness.ts";
import { Clients, type Figures, type SoakRun, serveOn } from "./rounds.ts";

const clients = 32;
const loadedMsMax = 400;
const tmpfsBytes = 700 * 1024 * 1024;
const imageBytes = 600 * 1024 * 1024;
// _IOR('X', 125, __u32), and the flag that leaves the journal unwritten.
const ext4Shutdown = 0x8004587d;
const withoutJournal = 2;

/** Why there can be no real ext4 here; undefined if there can. */
export function whyNoExt4(): string | undefined {
  if (process.platform !== "linux" || process.getuid?.() !== 0) return "it needs root on Linux";
  try {
    new Ext4().unmount();
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
  if (lost === 0 || control !== undefined) disk.unmount();
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

/** A real ext4 in an image on a loop device, whose own disk is a tmpfs. */
class Ext4 {
  readonly #folder = temporaryFolder();
  readonly #memory = join(this.#folder.path, "memory");
  readonly #image = join(this.#memory, "image");
  readonly path = join(this.#folder.path, "disk");

  constructor() {
    mkdirSync(this.#memory);
    mkdirSync(this.path);
    run("mount", "-t", "tmpfs", "-o", `size=${tmpfsBytes}`, "none", this.#memory);
    try {
      const file = openSync(this.#image, "w");
      ftruncateSync(file, imageBytes);
      closeSync(file);
      // A journal that is soon written in full: writes to what has its pages in the tmpfs do not fail, so that of most rounds the data
      // does, and not the journal, after which ext4 would be read-only.
      run("mkfs.ext4", "-q", "-J", "size=4", this.#image);
      this.#mount();
    } catch (error) {
      this.unmount();
      throw error;
    }
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

  /** Fills the tmpfs below the loop device, so that the kernel's write-back fails until it is freed. */
  failWrites(): void {
    const { stderr } = spawnSync("dd", ["if=/dev/zero", `of=${this.#memory}/filler`, "bs=1M"]);
    if (!String(stderr).includes("No space left")) throw new Error(String(stderr));
  }

  allowWrites(): void {
    rmSync(join(this.#memory, "filler"), { force: true });
  }

  /** Only what is really on the disk remains. */
  async remount(): Promise<void> {
    // A process that was just killed may take a moment to close its files.
    await eventually(() => spawnSync("umount", [this.path]).status === 0, "umount");
    // Or another process made a mount namespace of its own meanwhile, in which it is still mounted.
    const loops = () => spawnSync("losetup", ["-j", this.#image], { encoding: "utf8" }).stdout;
    await eventually(() => loops() === "", "the loop device to be gone");
    // Exit code 1 means that errors were corrected.
    const { status, stdout } = spawnSync("e2fsck", ["-fy", this.#image], { encoding: "utf8" });
    if ((status ?? 8) > 1) throw new Error(stdout);
    this.#mount();
  }

  unmount(): void {
    // Lazily, since a process that was just killed may still have a file open there.
    for (const mounted of [this.path, this.#memory]) spawnSync("umount", ["-l", mounted]);
    this.#folder[Symbol.dispose]();
  }

  #mount(): void {
    run("mount", "-o", "loop", this.#image, this.path);
  }
}

function run(command: string, ...args: string[]): void {
  const { status, stderr, error } = spawnSync(command, args, { encoding: "utf8" });
  if (status !== 0) throw new Error(`${command} failed: ${error?.message ?? stderr.trim()}`);
}
