const known: Readonly<Record<string, string>> = {
  ENOENT: "there is no such file or folder",
  EISDIR: "it is a folder",
  ENOTDIR: "a part of its path is no folder",
  EACCES: "this user may not",
  EPERM: "this user may not",
  ENOSPC: "the disk is full",
};

/** Why a file could not be read or written, in words for a person. */
export function fileTrouble(error: unknown): string {
  const { code = "", message } = error as NodeJS.ErrnoException;
  return known[code] ?? message;
}
