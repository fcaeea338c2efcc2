import { copyFileSync, existsSync, readdirSync, readlinkSync } from "node:fs";

/** Copies a data file and its WAL from the process that still has them open, as docs/operating.md says. */
export function rescue(pid: number, file: string, to: string): void {
  const handles = readdirSync(`/proc/${pid}/fd`).map((number) => `/proc/${pid}/fd/${number}`);
  for (const end of ["", "-wal"]) {
    // If it is this process, one of them is the handle that listed the folder, which is closed by now.
    const handle = handles.find((at) => existsSync(at) && readlinkSync(at) === `${file}${end} (deleted)`);
    copyFileSync(handle ?? file + end, to + end);
  }
}
