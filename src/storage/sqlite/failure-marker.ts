import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { DataFileProblem } from "./data-file-problem.ts";
import { fileMode } from "./data-folder.ts";

/** Why the last process could not vouch for the data file. */
export type Failure =
  /** A sync failed, so pages that the kernel calls clean may not be on the disk. */
  | { readonly reason: "sync-failed" }
  /** The data file was deleted or replaced while it was open; `copy` is where everything was saved, once it is. */
  | { readonly reason: "replaced"; readonly copy?: string };

/** Lies beside the data file. It need not survive a power loss: that empties the page cache too. */
export function markerFile(path: string): string {
  return `${path}.failure.json`;
}

export function writeMarker(path: string, failure: Failure): void {
  writeFileSync(markerFile(path), `${JSON.stringify(failure)}\n`, { mode: fileMode });
}

/** @throws DataFileProblem it is there and cannot be read, as one that another user has written. */
export function readMarker(path: string): Failure | undefined {
  let text: string;
  try {
    text = readFileSync(markerFile(path), "utf8");
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return undefined;
    throw new DataFileProblem(`${markerFile(path)} tells of a failure and cannot be read: ${message}.`);
  }
  try {
    return JSON.parse(text) as Failure;
  } catch {
    // Cut short by the failure that it tells of: then the worse of the two.
    return { reason: "sync-failed" };
  }
}

export function removeMarker(path: string): void {
  rmSync(markerFile(path), { force: true });
}

/** @throws DataFileProblem the data file is not the one that the last process wrote to. */
export function refuseReplaced(path: string, failure: Failure | undefined): void {
  if (failure?.reason !== "replaced") return;
  const saved =
    failure.copy === undefined
      ? "and no copy of it could be saved: restore a backup"
      : `and everything it held was saved to ${failure.copy}: move away what is at ${path}, then run \`plant-store restore ${failure.copy} --database ${path}\``;
  throw new DataFileProblem(
    `${path} was deleted or replaced while the service ran, ${saved}. To go on with what is there instead, delete ${markerFile(path)}.`,
  );
}
