// What people read in place of a code.
const reasons: Readonly<Record<string, string>> = {
  ENOENT: "no such file or directory",
  EISDIR: "it is a directory",
  // Of rmSync, in place of the system's code.
  ERR_FS_EISDIR: "it is a directory",
  ENOTDIR: "part of its path is not a directory",
  ELOOP: "too many symbolic links",
  EACCES: "permission denied",
  EPERM: "permission denied",
  EROFS: "the filesystem is read-only",
  ENOSPC: "the disk is full",
  EDQUOT: "the disk quota is exceeded",
  EFBIG: "the file would be larger than the system allows (ulimit -f)",
};

/** The code of an error, such as `ENOENT` of the operating system or `SQLITE_FULL` of SQLite; empty if it has none. */
export function codeOf(error: unknown): string {
  const code = (error as { code?: unknown } | undefined)?.code;
  return typeof code === "string" ? code : "";
}

/** The file that an error of the operating system is about; undefined if it is about none. */
export function pathOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException | undefined)?.path;
}

/** The system call that failed, such as `fsync`; empty if the error is not the operating system's. */
export function syscallOf(error: unknown): string {
  return (error as NodeJS.ErrnoException | undefined)?.syscall ?? "";
}

/** The message of whatever was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Why a file could not be read or written. */
export function describeFileError(error: unknown): string {
  return reasons[codeOf(error)] ?? messageOf(error);
}

/** Why a file could not be written, with its path, for the end of a sentence that does not name it. */
export function describeWriteError(error: unknown): string {
  // A file that cannot be renamed is called by the name that it was to have.
  const path = (error as { dest?: string } | undefined)?.dest ?? pathOf(error);
  const reason = reasons[codeOf(error)];
  if (path !== undefined && reason !== undefined) return `${path} cannot be written: ${reason}`;
  // A sentence of ours has its own full stop.
  return describeFileError(error).replace(/\.$/, "");
}
