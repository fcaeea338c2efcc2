import { randomUUID } from "node:crypto";
import { closeSync, fsyncSync, openSync, readFileSync, realpathSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import { describeFileError } from "../local-files.ts";
import { type Finding, findingsOf } from "./finding.ts";
import { findMount, isMemoryFilesystem } from "./mounts.ts";

// About what a small batch appends to the WAL.
const writeBytes = 4096 + 24;
const syncsMax = 100;
const measureMsMax = 1000;
const slowMs = 20;
// A flash device without power-loss protection needs longer to flush, a rotating disk several milliseconds.
const implausibleMs = 0.1;
const implausibleRotatingMs = 1.5;

export interface SyncTimes {
  readonly count: number;
  readonly medianMs: number;
  readonly p99Ms: number;
}

/** What the operating system says about where the fsyncs go. Each is undefined if it is not known. */
export interface SyncConditions {
  readonly filesystem: string | undefined;
  /** A preloaded library that turns fsync off. */
  readonly preloaded: string | undefined;
  readonly rotating: boolean | undefined;
  readonly virtualMachine: string | undefined;
}

/** Times real fsyncs in the folder, on a file that is removed again. */
export function checkFsync(folder: string, preload: string | undefined): Finding {
  try {
    return judgeFsync(measure(folder), conditions(folder, preload));
  } catch (error) {
    return findingsOf("fsync").fail(
      `no file could be written in ${folder}: ${describeFileError(error)}`,
      "Plants cannot be stored there. Free space, fix the permissions, or name another folder with --database.",
    );
  }
}

/** The times, and reasons not to trust them. */
export function judgeFsync(times: SyncTimes, known: SyncConditions): Finding {
  const { fail, ok, warn } = findingsOf("fsync");
  const { medianMs, p99Ms, count } = times;
  const message = `median ${formatMs(medianMs)}, p99 ${formatMs(p99Ms)}, of ${count}`;
  if (known.preloaded !== undefined)
    return fail(
      `${message}, but ${known.preloaded} is preloaded and turns fsync off`,
      "Start the service without it (LD_PRELOAD, /etc/ld.so.preload): a power failure would lose acknowledged plants.",
    );
  if (known.filesystem !== undefined && isMemoryFilesystem(known.filesystem))
    return warn(
      `${message}, but on ${known.filesystem} an fsync does nothing`,
      "Use a folder on a disk (--database).",
    );
  const rotating = known.rotating === true && known.virtualMachine === undefined;
  if (medianMs < (rotating ? implausibleRotatingMs : implausibleMs))
    return warn(
      `${message}: faster than ${rotating ? "a rotating disk" : "most devices"} can flush`,
      "Only a device or controller with power-loss protection may be that fast. Otherwise a volatile write cache " +
        `acknowledges what a power failure loses: turn the cache off${inVirtualMachine(known.virtualMachine)}.`,
    );
  if (medianMs > slowMs)
    return warn(
      `${message}: slow`,
      "Each batch waits for one. A faster disk, or one with power-loss protection, answers sooner.",
    );
  const doubt =
    known.virtualMachine === undefined
      ? ""
      : `; ${known.virtualMachine} is a virtual machine, whose host decides whether a flush reaches the device`;
  return ok(message + doubt);
}

function measure(folder: string): SyncTimes {
  const path = join(folder, `.plant-store-doctor-${randomUUID()}`);
  const file = openSync(path, "wx", 0o600);
  try {
    const bytes = Buffer.alloc(writeBytes, 1);
    const times: number[] = [];
    const deadlineMs = performance.now() + measureMsMax;
    while (times.length < syncsMax && (times.length === 0 || performance.now() < deadlineMs)) {
      writeSync(file, bytes);
      const startMs = performance.now();
      fsyncSync(file);
      times.push(performance.now() - startMs);
    }
    times.sort((a, b) => a - b);
    const at = (share: number) => times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? 0;
    return { count: times.length, medianMs: at(0.5), p99Ms: at(0.99) };
  } finally {
    closeSync(file);
    rmSync(path, { force: true });
  }
}

function conditions(folder: string, preload: string | undefined): SyncConditions {
  const mount = findMount(folder);
  const mapped = `${preload ?? ""}\n${read("/proc/self/maps") ?? ""}`;
  return {
    filesystem: mount?.type,
    preloaded: /lib(?:eatmydata|nosync|nofsync)[^\s:]*/.exec(mapped)?.[0],
    rotating: mount === undefined ? undefined : isRotating(mount.device),
    virtualMachine: virtualMachine(),
  };
}

// A partition has no queue of its own; its disk, one level up, does.
function isRotating(device: string): boolean | undefined {
  let folder: string;
  try {
    folder = realpathSync(`/sys/dev/block/${device}`);
  } catch {
    return undefined;
  }
  const text = read(join(folder, "queue/rotational")) ?? read(join(folder, "../queue/rotational"));
  return text === undefined ? undefined : text.trim() === "1";
}

function virtualMachine(): string | undefined {
  if (!/^flags\s*:.*\bhypervisor\b/m.test(read("/proc/cpuinfo") ?? "")) return undefined;
  const [vendor, product] = ["sys_vendor", "product_name"].map((name) =>
    read(`/sys/class/dmi/id/${name}`)?.trim(),
  );
  return [vendor, product].filter(Boolean).join(" ") || "this";
}

function inVirtualMachine(name: string | undefined): string {
  return name === undefined
    ? ""
    : ", and check the host, which runs this virtual machine: its disk must not have cache=unsafe";
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}

function formatMs(ms: number): string {
  return `${ms < 1 ? ms.toFixed(3) : ms.toFixed(1)} ms`;
}
