// npm run soak:disk -- [power-loss|write-errors] [ROUNDS]
// A real ext4 on a loop device, as root on Linux. `power-loss` shuts the file system down under a loaded service without writing
// the page cache, like a power loss. `write-errors` fills the tmpfs under the loop device for a second, so that the kernel's write-back
// fails. After each round the service starts again, first on the remaining page cache
// and then on what is really on the disk, and every acknowledged plant must be there.
import { dlopen, FFIType } from "bun:ffi";
import { spawnSync } from "node:child_process";
import { closeSync, ftruncateSync, mkdirSync, openSync, rmSync, statfsSync, writeSync } from "node:fs";
import { join } from "node:path";
import { type Serving, serve } from "./command.ts";
import { accessToken, eventually, storedPlants, temporaryFolder } from "./harness.ts";

type Kind = "power-loss" | "write-errors";

const [kind = "power-loss", count = "100"] = process.argv.slice(2) as [Kind?, string?];
const rounds = Number(count);
const clients = 32;
const tmpfsBytes = 700 * 1024 * 1024;
const imageBytes = 600 * 1024 * 1024;
const errorsMs = 1200;
// _IOR('X', 125, __u32), and the flag that leaves the journal unwritten.
const ext4Shutdown = 0x8004587d;
const withoutJournal = 2;

const folder = temporaryFolder();
const memory = join(folder.path, "memory");
const disk = join(folder.path, "disk");
const image = join(memory, "image");
const database = join(disk, "plants.db");
mkdirSync(memory);
mkdirSync(disk);
run("mount", "-t", "tmpfs", "-o", `size=${tmpfsBytes}`, "none", memory);
const acknowledged = new Map<string, string>();
let nextId = 0n;
let failures = 0;
// Rounds in which the service detected the failing disk, and in which it started again on the remaining page cache.
let noticed = 0;
let restarted = 0;
try {
  const file = openSync(image, "w");
  ftruncateSync(file, imageBytes);
  closeSync(file);
  run("mkfs.ext4", "-q", image);
  mountDisk();
  for (let round = 1; round <= rounds; round++) {
    const ended = await (kind === "power-loss" ? losePower() : failWrites());
    const missing = await compare();
    failures += missing;
    if (missing > 0) throw new Error(`${missing} acknowledged plants are missing or different`);
    console.error(
      `round ${round} of ${rounds}: ${ended}; ${acknowledged.size} acknowledged, ${missing} missing`,
    );
  }
} catch (error) {
  console.error(error);
  console.error(`Left mounted for a look, the image included: ${folder.path}`);
  process.exit(1);
}
// Lazily, since a process that was just killed may still have a file open there.
for (const mounted of [disk, memory]) spawnSync("umount", ["-l", mounted]);
folder[Symbol.dispose]();
console.log(
  `${rounds} rounds of ${kind}: ${acknowledged.size} acknowledged, ${failures} missing or different`,
);
if (kind === "write-errors")
  console.log(`noticed in ${noticed} rounds; ${restarted} restarts without a new mount`);
const tried = kind === "power-loss" || (noticed > 0 && restarted > 0);
process.exitCode = failures === 0 && acknowledged.size > 0 && tried ? 0 : 1;

async function losePower(): Promise<string> {
  await using service = await start();
  const load = startLoad(service);
  await Bun.sleep(100 + Math.random() * 400);
  load.stopCounting();
  shutDown();
  service.child.kill("SIGKILL");
  await Promise.all([service.ended(), load.ended]);
  await remount();
  return "power lost";
}

async function failWrites(): Promise<string> {
  await using service = await start();
  const load = startLoad(service);
  await Bun.sleep(200 + Math.random() * 300);
  fill();
  await Bun.sleep(errorsMs);
  rmSync(join(memory, "filler"), { force: true });
  await Bun.sleep(300);
  load.stopCounting();
  if (service.child.exitCode !== null) noticed++;
  const by = service.child.exitCode === null ? "kept serving" : `ended with ${service.child.exitCode}`;
  service.child.kill("SIGKILL");
  await Promise.all([service.ended(), load.ended]);
  return by;
}

/** Once with the page cache, as after a restart, and once with only what is on the disk. */
async function compare(): Promise<number> {
  let wrong = 0;
  if (kind === "write-errors" && (await restarts())) {
    restarted++;
    wrong += different();
  }
  await remount();
  {
    await using service = await start();
    wrong += different();
    service.child.kill("SIGKILL");
    await service.ended();
  }
  return wrong;
}

// After a journal error ext4 is read-only until it is mounted again.
async function restarts(): Promise<boolean> {
  try {
    await using service = await start();
    service.child.kill("SIGKILL");
    await service.ended();
    return true;
  } catch (error) {
    console.error(
      `  no start before the file system was mounted again: ${(error as Error).message.trim().slice(0, 200)}`,
    );
    return false;
  }
}

function different(): number {
  const stored = new Map(storedPlants(database).map(({ id, name }) => [String(id), name]));
  return [...acknowledged].filter(([id, name]) => stored.get(id) !== name).length;
}

function start(): Promise<Serving> {
  return serve(["--database", database, "--operator-listen", "off"], {
    environment: { PLANT_STORE_ACCESS_TOKEN: accessToken },
  });
}

function startLoad(service: Serving): { stopCounting(): void; readonly ended: Promise<unknown> } {
  let counting = true;
  const client = async (): Promise<void> => {
    while (counting) {
      const id = String(BigInt.asIntN(64, nextId++ * 0x9e3779b97f4a7c15n));
      const name = `plant ${id} ${"x".repeat(200)}`;
      try {
        const response = await fetch(`${service.url}/plants`, {
          method: "POST",
          headers: { Authorization: `Bearer ${accessToken}`, "Content-Type": "application/json" },
          body: `{"id":${id},"name":"${name}","tag":"soak"}`,
        });
        // Responses during the power loss prove nothing.
        if (response.status === 200 && counting) acknowledged.set(id, name);
        if (response.status !== 200) await Bun.sleep(5);
      } catch {
        return;
      }
    }
  };
  return {
    stopCounting() {
      counting = false;
    },
    ended: Promise.all(Array.from({ length: clients }, client)),
  };
}

function fill(): void {
  const { bavail, bsize } = statfsSync(memory);
  const filler = openSync(join(memory, "filler"), "w");
  const chunk = Buffer.alloc(1024 * 1024);
  try {
    for (let left = bavail * bsize; left > 0; left -= chunk.length) writeSync(filler, chunk);
  } catch {
    // Full, as intended.
  }
  closeSync(filler);
}

function shutDown(): void {
  const { symbols } = dlopen("libc.so.6", {
    ioctl: { args: [FFIType.i32, FFIType.u64, FFIType.ptr], returns: FFIType.i32 },
  });
  const handle = openSync(disk, "r");
  const status = symbols.ioctl(handle, BigInt(ext4Shutdown), new Uint32Array([withoutJournal]));
  closeSync(handle);
  if (status !== 0) throw new Error("the file system could not be shut down");
}

async function remount(): Promise<void> {
  // A process that was just killed may take a moment to close its files.
  await eventually(() => spawnSync("umount", [disk]).status === 0);
  // Exit code 1 means that errors were corrected.
  const checked = spawnSync("e2fsck", ["-fy", image], { encoding: "utf8" });
  if (checked.status !== 0)
    console.error(
      `  e2fsck: ${checked.stdout
        .split("\n")
        .filter((line) => /wrong|Fix|clear|inode/i.test(line))
        .join(" ")
        .slice(0, 300)}`,
    );
  if ((checked.status ?? 8) > 1) throw new Error(checked.stdout);
  mountDisk();
}

function mountDisk(): void {
  run("mount", "-o", "loop", image, disk);
}

function run(command: string, ...args: string[]): void {
  const { status, stderr } = spawnSync(command, args, { encoding: "utf8" });
  if (status !== 0) throw new Error(`${command} ${args.join(" ")}: ${stderr}`);
}
