import { randomUUID } from "node:crypto";
import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  fsyncSync,
  openSync,
  rmSync,
  statfsSync,
  statSync,
  writeSync,
} from "node:fs";
import { createServer } from "node:net";
import { dirname, join } from "node:path";
import { localUser } from "../access/audit.ts";
import { type Bound, formatAddress, listenProblem, publicUrl } from "../http/listen-address.ts";
import { realDataFile } from "../storage/sqlite/data-file-path.ts";
import { diagnoseDataFile } from "../storage/sqlite/reading/open-read-only.ts";
import { describeFileError } from "./local-files.ts";
import { formatBytes } from "./progress-line.ts";

/** What a check found. A check that throws has failed, for the reason in the message. */
export interface Facts {
  readonly facts: string;
  /** What an operator may have chosen, or only the operator can know, each with what to do about it. */
  readonly doubts?: readonly (string | false | undefined)[];
}

const groupOrOthersWrite = 0o022;
const freeBytesMin = 64e6;
const freeBytesComfortable = 1e9;
const inMemory = "A restart of the machine loses what is in memory: use a folder on a disk.";
const onNetwork = "SQLite's locks are not reliable over a network: use a local disk, or PostgreSQL.";
/** Linux's filesystems, by the number that statfs(2) returns, and what is wrong with some. */
const filesystems = new Map<number, readonly [name: string, doubt?: string]>([
  [0xef53, ["ext2, ext3 or ext4"]],
  [0x58465342, ["XFS"]],
  [0x9123683e, ["Btrfs"]],
  [0x2fc12fc1, ["ZFS"]],
  [0x01021994, ["tmpfs", inMemory]],
  [0x858458f6, ["ramfs", inMemory]],
  [0x794c7630, ["overlay", "A container's writable layer is deleted with it: mount a volume."]],
  [0x65735546, ["FUSE", "A program decides what an fsync means there: use a local disk."]],
  [0x6969, ["NFS", onNetwork]],
  [0xff534d42, ["CIFS", onNetwork]],
  [0xfe534d42, ["SMB", onNetwork]],
  [0x01021997, ["9P", onNetwork]],
]);
// About what a small batch appends to the WAL.
const writeBytes = 4096 + 24;
const syncsMax = 100;
const measureMsMax = 1000;
const slowMs = 20;
// A flash device without power-loss protection needs longer to flush.
const implausibleMs = 0.1;
const responseMsMax = 3000;

/** The folder of the data file: its rights, owner, space, and kind of filesystem. */
export function checkFolder(dataFile: string): Facts {
  const { path, exists } = nearestFolder(dataFile);
  const user = localUser();
  try {
    accessSync(path, constants.W_OK | constants.X_OK);
  } catch (error) {
    throw new Error(`${user.name} may not write to ${path}: ${describeFileError(error)}`);
  }
  const { mode, uid } = statSync(path);
  const { bavail, bsize, type } = statfsSync(path);
  const [filesystem, doubt] = filesystems.get(type >>> 0) ?? ["a filesystem that doctor does not know"];
  const freeBytes = bavail * bsize;
  const isOwn = uid === user.uid;
  // On Windows, where the id is -1, a mode says nothing.
  const hasRights = exists && user.uid >= 0;
  const rights = `mode ${(mode & 0o777).toString(8)}, owner ${isOwn ? user.name : uid}`;
  const facts = `${path}, ${rights}, ${formatBytes(freeBytes)} free, ${filesystem}`;
  if (freeBytes < freeBytesMin) throw new Error(`${facts}: on a full disk, creates are refused with 50302`);
  const doubts = [
    !exists && "The data folder does not exist yet. The first start creates it, unless --database is wrong.",
    doubt,
    freeBytes < freeBytesComfortable && "The WAL and a backup need space: free some before it runs out.",
    hasRights &&
      (mode & groupOrOthersWrite) !== 0 &&
      `Others may replace the data file: run chmod 700 on ${path}.`,
    hasRights && !isOwn && `Doctor ran as ${user.name}: run it as the service's user, and with its settings.`,
  ];
  return { facts, doubts };
}

/** Times real fsyncs, on a file that is removed again. */
export function checkFsync(dataFile: string): Facts {
  const path = join(nearestFolder(dataFile).path, `.plant-store-doctor-${randomUUID()}`);
  const file = openSync(path, "wx", 0o600);
  try {
    const timesMs: number[] = [];
    const deadlineMs = performance.now() + measureMsMax;
    while (timesMs.length < syncsMax && (timesMs.length === 0 || performance.now() < deadlineMs)) {
      writeSync(file, Buffer.alloc(writeBytes, 1));
      const startMs = performance.now();
      fsyncSync(file);
      timesMs.push(performance.now() - startMs);
    }
    return judgeFsync(timesMs);
  } finally {
    closeSync(file);
    rmSync(path, { force: true });
  }
}

export function judgeFsync(timesMs: readonly number[]): Facts {
  const sorted = timesMs.toSorted((one, other) => one - other);
  const at = (share: number) => sorted[Math.floor(sorted.length * share)] ?? 0;
  const facts = `median ${at(0.5).toFixed(3)} ms, p99 ${at(0.99).toFixed(3)} ms, of ${sorted.length}`;
  const doubts = [
    at(0.5) < implausibleMs &&
      "Most devices cannot flush that fast. Unless this one has power-loss protection, a volatile cache, of the disk or of a virtual machine's host, acknowledges what a power failure loses: turn it off.",
    at(0.5) > slowMs && "That is slow, and each batch waits for one: a faster disk responds sooner.",
  ];
  return { facts, doubts };
}

export function checkDataFile(dataFile: string): Facts {
  const found = diagnoseDataFile(dataFile);
  if (found === undefined) return { facts: `${dataFile} does not exist yet; the first start creates it` };
  const { bytes, walBytes, writable, syncFailed, hasWriter } = found;
  const open = hasWriter ? "a service has it open" : "no service has it open";
  const facts = `${dataFile} can be read, ${formatBytes(bytes)} and a WAL of ${formatBytes(walBytes)}; ${open}`;
  if (!writable) throw new Error(`${facts}; ${localUser().name} may not write to it`);
  const rebuild =
    "An fsync failed in the last process. The next start rebuilds the file, which needs as much free space as the file; check the disk (dmesg, smartctl) first.";
  return { facts, doubts: [syncFailed && !hasWriter && rebuild] };
}

export interface Listener extends Bound {
  /** Of the base URL, if the listener's paths are below it. */
  readonly path: string;
  /** Whether it asks for a client certificate, which doctor does not have. */
  readonly needsCertificate: boolean;
}

/** Whether the address can be bound, unless our own service has it. `mayBeOurs` is false if no service has the store open. */
export async function checkListener(listener: Listener, mayBeOurs: boolean): Promise<Facts> {
  const address = formatAddress(listener);
  const error = await bindError(listener);
  if (error === undefined) return { facts: `${address} is free` };
  if (error.code !== "EADDRINUSE") throw listenProblem(error, listener.host, listener.port, "");
  if (!mayBeOurs) throw new Error(`${address} is in use, and no service has this data file open`);
  if (listener.needsCertificate)
    return {
      facts: `${address} is in use`,
      doubts: ["Make sure that it is this service: it asks for a client certificate."],
    };
  if (!(await respondsAsService(`${publicUrl(undefined, listener)}${listener.path}/livez`)))
    throw new Error(`${address} is in use, and no plant-store responds there`);
  return { facts: `${address} is in use by a plant-store that responds` };
}

/** The folder of the data file, or the nearest above it that exists: `serve` creates the rest. */
function nearestFolder(dataFile: string): { readonly path: string; readonly exists: boolean } {
  const wanted = dirname(realDataFile(dataFile));
  let path = wanted;
  while (!existsSync(path) && dirname(path) !== path) path = dirname(path);
  return { path, exists: path === wanted };
}

/** Listens there for an instant. */
function bindError({ host, port }: Bound): Promise<NodeJS.ErrnoException | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", resolve);
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(undefined)));
  });
}

/** The service echoes the id of a request. Other programs may too, but not with this body. */
async function respondsAsService(url: string): Promise<boolean> {
  const id = randomUUID();
  try {
    const response = await fetch(url, {
      headers: { "X-Request-Id": id },
      signal: AbortSignal.timeout(responseMsMax),
      // The certificate is for the name that clients use.
      tls: { rejectUnauthorized: false },
    });
    return response.headers.get("x-request-id") === id && (await response.text()) === '{"status":"live"}';
  } catch {
    return false;
  }
}
