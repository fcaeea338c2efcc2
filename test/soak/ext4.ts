import { dlopen, FFIType } from "bun:ffi";
import { spawnSync } from "node:child_process";
import { closeSync, cpSync, mkdirSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { outputOf } from "../../scripts/processes.js";
import type { Serving } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";
import { storedPlants } from "../support/stored-plants.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { Clients, type Figures, type SoakRun, serveOn } from "./rounds.ts";

const clients = 32;
const loadedMsMax = 400;
const zram = "/sys/class/zram-control";
const diskBytes = 600 * 1024 * 1024;
// What the disk may still grow: a write of a block that it has takes the space of the new one before it frees that of
// the old one.
const spareBytes = 128 * 1024;
// _IOR('X', 125, __u32), and the flag that leaves the journal unwritten.
const ext4Shutdown = 0x8004587d;
const withoutJournal = 2;

/** Why there can be no real ext4 here; undefined if there can. */
export async function whyNoExt4(): Promise<string | undefined> {
  if (process.platform !== "linux" || process.getuid?.() !== 0) return "it needs root on Linux";
  try {
    await using _disk = new Ext4();
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

export type Found = Pick<Figures, "rounds" | "acknowledged" | "lost">;

/** A service under load on such a disk. */
export interface Loaded {
  readonly disk: Ext4;
  readonly database: string;
  readonly serving: Serving;
  readonly load: Clients;
  /** From 1 on. */
  readonly round: number;
  /**
   * Kills the service, and starts it again with that environment; then the clients send again what had no response. `listening`
   * is called before they do.
   */
  readonly restart: (environment: Readonly<Record<string, string>>, listening?: () => void) => Promise<void>;
}

export interface OnExt4 {
  /** Of the service, by round. */
  readonly environment?: (round: number) => Readonly<Record<string, string>>;
  /** Whether it is a control, which is meant to lose plants. */
  readonly isControl?: boolean;
}

/**
 * Loads a service on such a disk, lets `harm` do it harm and count what is lost already, and compares again with what is really
 * on the disk. Ends with the first loss, of which it keeps a copy for a look, unless it is a control.
 */
export async function runOnExt4(
  { rounds, random, tell }: SoakRun,
  harm: (loaded: Loaded) => Promise<number>,
  { environment = () => ({}), isControl = false }: OnExt4 = {},
): Promise<Found> {
  await using disk = new Ext4();
  const database = join(disk.path, "plants.db");
  let service: Serving | undefined;
  await using load = new Clients(clients, () => service?.url);
  let round = 0;
  let lost = 0;
  while (round < rounds && lost === 0) {
    round++;
    {
      await using services = new AsyncDisposableStack();
      const start = async (variables: Readonly<Record<string, string>>): Promise<Serving> => {
        service = services.use(await serveOn(database, variables));
        return service;
      };
      const serving = await start(environment(round));
      const restart: Loaded["restart"] = async (variables, listening = () => {}) => {
        load.paused = true;
        await serving[Symbol.asyncDispose]();
        await start(variables);
        listening();
        load.paused = false;
        await load.acknowledgedAgain();
      };
      load.paused = false;
      await load.acknowledgedAgain();
      await Bun.sleep(random() * loadedMsMax);
      lost += await harm({ disk, database, serving, load, round, restart });
    }
    service = undefined;
    await disk.remount();
    lost += await lostOn(database, load);
    tell(`round ${round} of ${rounds}: ${load.acknowledged} acknowledged, ${lost} lost`);
  }
  if (lost > 0 && !isControl) tell(`the files are in ${disk.copyFiles()}`);
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
 * A real ext4 on a disk in memory, whose size has a limit. Not a loop device on a full tmpfs: Linux 6.18 reports a write as done
 * that ran out of space in the middle.
 */
export class Ext4 implements AsyncDisposable {
  readonly #folder = temporaryFolder();
  readonly #number = readFileSync(`${zram}/hot_add`, "utf8").trim();
  readonly #device = `/dev/zram${this.#number}`;
  readonly path = join(this.#folder.path, "disk");

  constructor() {
    mkdirSync(this.path);
    try {
      this.#set("disksize", diskBytes);
      outputOf("mkfs.ext4", ["-q", this.#device]);
      this.#mount();
    } catch (error) {
      writeFileSync(`${zram}/hot_remove`, this.#number);
      this.#folder[Symbol.dispose]();
      throw error;
    }
  }

  /** Copies everything that is on it to a folder that stays. */
  copyFiles(): string {
    const { path: copy } = temporaryFolder();
    cpSync(this.path, copy, { recursive: true });
    return copy;
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
    await this.#unmount();
    await eventually(() => this.#isRepaired(), "e2fsck");
    this.#mount();
  }

  /**
   * False while the kernel still uses the disk: a process that started meanwhile in a mount namespace of its own has
   * a copy of the mount.
   */
  #isRepaired(): boolean {
    const { status, stdout, stderr } = spawnSync("e2fsck", ["-fy", this.#device], { encoding: "utf8" });
    // Exit code 1 means that errors were corrected.
    if ((status ?? 8) > 1) throw new Error(stdout + stderr);
    return true;
  }

  /** However the soak ended: a disk that is left takes memory, and the next soak finds zram in use. */
  async [Symbol.asyncDispose](): Promise<void> {
    try {
      await this.#unmount();
    } catch {
      // A process still has a file open there. It is detached now, and gone with that process.
      spawnSync("umount", ["--lazy", this.path]);
    }
    await eventually(() => this.#removeDevice(), "the disk to be removed");
    this.#folder[Symbol.dispose]();
  }

  /** A process that was just killed may take a moment to close its files. */
  #unmount(): Promise<void> {
    return eventually(() => spawnSync("umount", [this.path]).status === 0, "umount");
  }

  /** False while the kernel still uses it, which it does for a moment after it was unmounted. */
  #removeDevice(): boolean {
    try {
      writeFileSync(`${zram}/hot_remove`, this.#number);
      return true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "EBUSY") return false;
      throw error;
    }
  }

  #mount(): void {
    outputOf("mount", [this.#device, this.path]);
  }

  #set(name: string, value: number): void {
    writeFileSync(`/sys/block/zram${this.#number}/${name}`, String(value));
  }
}
