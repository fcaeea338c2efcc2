import { readFileSync } from "node:fs";

/** The filesystem that a folder is on. */
export interface Mount {
  /** As the kernel names it: `ext4`, `tmpfs`, `nfs4`, `fuse.sshfs`. */
  readonly type: string;
  /** Where it is mounted. */
  readonly point: string;
  /** `MAJOR:MINOR` of its device. */
  readonly device: string;
  readonly options: readonly string[];
}

/** Undefined if the system does not have the table. */
export function findMount(folder: string, table: string | undefined = mountTable()): Mount | undefined {
  const mounts = (table ?? "").split("\n").flatMap((line) => parseLine(line) ?? []);
  const holds = ({ point }: Mount) => point === "/" || folder === point || folder.startsWith(`${point}/`);
  // The last of equal length covers those before it.
  return mounts
    .filter(holds)
    .reduce<Mount | undefined>(
      (best, mount) => (best === undefined || mount.point.length >= best.point.length ? mount : best),
      undefined,
    );
}

/** Network filesystems, on which SQLite's locks are not reliable. */
export function isNetworkFilesystem(type: string): boolean {
  return /^(?:nfs\d?|cifs|smb\w*|9p|afs|ceph|glusterfs|lustre|ncpfs|coda|beegfs|gpfs|vboxsf|prl_fs|fuse\.(?:sshfs|s3fs|rclone|glusterfs|ceph\S*|gcsfuse|davfs\S*|curlftpfs|vmhgfs\S*))$/.test(
    type,
  );
}

/** Filesystems in memory. */
export function isMemoryFilesystem(type: string): boolean {
  return type === "tmpfs" || type === "ramfs" || type === "rootfs";
}

function mountTable(): string | undefined {
  try {
    return readFileSync("/proc/self/mountinfo", "utf8");
  } catch {
    return undefined;
  }
}

// "36 35 98:0 / /mount/point rw,noatime shared:1 - ext4 /dev/sda1 rw,barrier=0", with a variable number of fields before the dash.
function parseLine(line: string): Mount | undefined {
  const [before = "", after] = line.split(" - ");
  if (after === undefined) return undefined;
  const [, , device = "", , point = "", options = ""] = before.split(" ");
  const [type = "", , superOptions = ""] = after.split(" ");
  return { type, point: decodeOctal(point), device, options: `${options},${superOptions}`.split(",") };
}

function decodeOctal(path: string): string {
  return path.replaceAll(/\\(\d{3})/g, (_, octal) => String.fromCharCode(Number.parseInt(octal, 8)));
}
