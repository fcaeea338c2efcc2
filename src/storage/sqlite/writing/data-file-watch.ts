import { closeSync, fstatSync, openSync, readlinkSync, statSync } from "node:fs";
import { OverwriteCheck } from "./overwrite-check.ts";

/** What happened to one of the files. */
export interface Loss {
  readonly file: "data" | "wal";
  /** An overwritten file has nothing left to copy. */
  readonly how: "replaced" | "overwritten";
}

const watchEveryMs = 500;

/**
 * Notices when the data file or its WAL is deleted, replaced or overwritten while SQLite has them open: what is acknowledged
 * would be lost. Its handles stay open: closing one to the data file would drop SQLite's POSIX locks in this process.
 */
export class DataFileWatch {
  readonly #path: string;
  /** Handles to the data file and the WAL, for as long as the database is open. */
  readonly data: number;
  readonly wal: number;
  readonly #overwriting: OverwriteCheck;
  readonly #lost: (loss: Loss) => void;
  readonly #timer: NodeJS.Timeout;

  constructor(path: string, lost: (loss: Loss) => void) {
    this.#path = path;
    this.#lost = lost;
    this.data = openSync(path, "r+");
    this.wal = openSync(`${path}-wal`, "r");
    this.#overwriting = new OverwriteCheck(path, this.data, this.wal);
    this.#timer = setInterval(() => this.check(), watchEveryMs);
    this.#timer.unref();
  }

  /** Whether both files are at their paths, and only SQLite has written to them; reports the first that is not so. */
  check(): boolean {
    if (!isSame(this.#path, this.data)) return this.#report({ file: "data", how: "replaced" });
    if (!isSame(`${this.#path}-wal`, this.wal)) return this.#report({ file: "wal", how: "replaced" });
    const overwritten = this.#overwriting.find();
    return overwritten === undefined || this.#report({ file: overwritten, how: "overwritten" });
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
    this.#overwriting.close();
  }

  #report(loss: Loss): false {
    this.stop();
    this.#lost(loss);
    return false;
  }
}

function shellQuoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

function isSame(path: string, handle: number): boolean {
  try {
    const [named, open] = [statSync(path, { bigint: true }), fstatSync(handle, { bigint: true })];
    return named.ino === open.ino && named.dev === open.dev;
  } catch (error) {
    // Any other error, such as a folder that cannot be read at the moment, proves nothing about the file.
    return !["ENOENT", "ENOTDIR"].includes((error as NodeJS.ErrnoException).code ?? "");
  }
}
