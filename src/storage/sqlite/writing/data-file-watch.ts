import { closeSync, fstatSync, openSync, readlinkSync } from "node:fs";
import { stat } from "node:fs/promises";

export type WatchedFile = "data" | "wal";

const watchEveryMs = 500;

/**
 * Notices when the data file or its WAL is deleted or replaced while SQLite has them open: writes would go to unlinked
 * files. It only calls stat: closing a handle to the data file would drop SQLite's POSIX locks in this process.
 */
export class DataFileWatch {
  readonly #path: string;
  /** Handles to the data file and the WAL, for as long as the database is open. */
  readonly data: number;
  readonly wal: number;
  readonly #lost: (file: WatchedFile) => void;
  readonly #timer: NodeJS.Timeout;

  constructor(path: string, lost: (file: WatchedFile) => void) {
    this.#path = path;
    this.#lost = lost;
    this.data = openSync(path, "r+");
    this.wal = openSync(`${path}-wal`, "r");
    this.#timer = setInterval(() => void this.check(), watchEveryMs);
    this.#timer.unref();
  }

  /** Whether both files are still at their paths; reports the first that is not, once. */
  async check(): Promise<boolean> {
    if (!(await isSame(this.#path, this.data))) return this.#report("data");
    if (!(await isSame(`${this.#path}-wal`, this.wal))) return this.#report("wal");
    return true;
  }

  /** Shell commands that copy both files from this process to a data file with its WAL; undefined if there is no /proc. */
  copyCommands(): string | undefined {
    let process: string;
    try {
      process = readlinkSync("/proc/self");
    } catch {
      return undefined;
    }
    const copy = `${this.#path}.rescued-${new Date().toISOString().replaceAll(/[:.]/g, "-")}`;
    const command = (file: number, to: string) => `cp /proc/${process}/fd/${file} ${shellQuoted(to)}`;
    // The data file first: until its WAL is copied, a checkpoint that is still running may write to it.
    return `${command(this.data, copy)} && ${command(this.wal, `${copy}-wal`)} && sync`;
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** To be called after the database is closed. */
  closeFiles(): void {
    closeSync(this.data);
    closeSync(this.wal);
  }

  #report(file: WatchedFile): false {
    this.stop();
    this.#lost(file);
    return false;
  }
}

function shellQuoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

async function isSame(path: string, handle: number): Promise<boolean> {
  try {
    const [named, open] = [await stat(path, { bigint: true }), fstatSync(handle, { bigint: true })];
    return named.ino === open.ino && named.dev === open.dev;
  } catch (error) {
    // Any other error, such as a folder that cannot be read at the moment, proves nothing about the file.
    return !["ENOENT", "ENOTDIR"].includes((error as NodeJS.ErrnoException).code ?? "");
  }
}
