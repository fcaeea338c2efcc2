import { accessSync, constants, existsSync, realpathSync, statfsSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { localUser } from "../../access/audit.ts";
import { describeFileError } from "../local-files.ts";
import { formatBytes } from "../progress-line.ts";
import { type Finding, findingsOf } from "./finding.ts";
import { findMount, isMemoryFilesystem, isNetworkFilesystem, type Mount } from "./mounts.ts";

const freeBytesMin = 64e6;
const freeBytesComfortable = 1e9;
const groupOrOthersWrite = 0o022;

/** The folder of the data file, or the nearest above it that exists: `serve` creates the rest. */
export function nearestFolder(dataFile: string): { readonly path: string; readonly exists: boolean } {
  const wanted = dirname(resolve(dataFile));
  let path = wanted;
  while (!existsSync(path) && dirname(path) !== path) path = dirname(path);
  return { path: realpathSync(path), exists: path === wanted };
}

export function checkFolder({ path, exists }: ReturnType<typeof nearestFolder>): Finding {
  const { fail, ok, warn } = findingsOf("folder");
  const user = localUser();
  try {
    accessSync(path, constants.W_OK | constants.X_OK);
  } catch (error) {
    return fail(
      `${path} cannot be written to: ${describeFileError(error)}`,
      `Make the service's user its owner (chown), or name another folder with --database. Doctor ran as ${user.name}.`,
    );
  }
  if (!exists)
    return warn(
      `the data folder does not exist yet, below ${path}`,
      "The first start creates it. If the store should exist already, check --database and the folder that you are in.",
    );
  const { mode, uid } = statSync(path);
  if ((mode & groupOrOthersWrite) !== 0)
    return warn(
      `other users may write to ${path}, which has mode ${(mode & 0o777).toString(8)}`,
      `They could replace the data file. Run chmod 700 on ${path}.`,
    );
  if (uid !== user.uid && user.uid >= 0)
    return warn(
      `${path} belongs to the user ${uid}, and doctor runs as ${user.name}`,
      "Run doctor as the service's user, so that it checks what the service may do.",
    );
  return ok(`${path} is writable, mode ${(mode & 0o777).toString(8)}`);
}

export function checkFilesystem(path: string, mount: Mount | undefined = findMount(path)): Finding {
  const { fail, ok, warn } = findingsOf("filesystem");
  if (mount === undefined) return ok("its type is not known on this system");
  const { type, point, options } = mount;
  const named = `${type} at ${point}`;
  if (isMemoryFilesystem(type))
    return warn(
      `${named} is in memory: a restart of the machine loses every plant`,
      "Use a folder on a disk (--database).",
    );
  if (isNetworkFilesystem(type))
    return warn(
      `${named} is a network filesystem, on which SQLite's locks and WAL do not work reliably`,
      "Use a local disk or an attached block device, or PostgreSQL if several machines need the store.",
    );
  if (type === "overlay")
    return warn(
      `${named} is a container's writable layer, which is deleted with it`,
      "Mount a volume and put the data file there.",
    );
  const unsafe = options.find((option) => /^(?:nobarrier|barrier=0|barrier=none)$/.test(option));
  if (unsafe !== undefined)
    return fail(
      `${named} is mounted with ${unsafe}, so an fsync does not flush the disk's cache`,
      `Mount it without ${unsafe}.`,
    );
  if (type.startsWith("fuse"))
    return warn(
      `${named} is served by a program, which decides what an fsync means`,
      "Use a local filesystem such as ext4 or XFS, unless you know that it passes fsync through.",
    );
  return ok(named);
}

export function checkFreeSpace(path: string): Finding {
  const { fail, ok, warn } = findingsOf("free space");
  const { bavail, bsize, blocks, files, ffree } = statfsSync(path);
  const free = bavail * bsize;
  const message = `${formatBytes(free)} of ${formatBytes(blocks * bsize)}`;
  if (files > 0 && ffree === 0)
    return fail("no inode is free, so no file can be created", "Delete files that are not needed.");
  if (free < freeBytesMin)
    return fail(message, "Free space or enlarge the disk: on a full disk, creates are refused with 50302.");
  if (free < freeBytesComfortable)
    return warn(
      message,
      "The WAL and a backup need space next to the data file; free some before it runs out.",
    );
  return ok(message);
}
