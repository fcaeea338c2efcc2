import type { StoreDigest } from "../plants/plant-backups.ts";
import { describeEachBlock } from "../storage/sqlite/blocks/blocks.ts";
import type { BackupFile } from "../storage/sqlite/copying/backup.ts";
import { formatPlural } from "../text/counts.ts";
import { formatBytes } from "../text/sizes.ts";
import type { Terminal } from "./terminal.ts";

/** What was copied from where, and what came of it. */
interface CopyReport {
  readonly from: string;
  /** What was done, such as `Backed up and checked`. */
  readonly done: string;
  readonly copied: BackupFile;
  /** What else --json prints; undefined without it. */
  readonly json: object | undefined;
}

/** Reports a copy of a data file, and warns of what is wrong with its source: the copy is the same. */
export function reportCopy(terminal: Terminal, { from, done, copied, json }: CopyReport): void {
  const { path, bytes, plants, sha256, coveredPlants, digest, matchedPlants, changedBlocks } = copied;
  const presented = { path, bytes, plants, sha256, coveredPlants, digest, matchedPlants, changedBlocks };
  if (json !== undefined) terminal.printJson({ ...presented, ...json });
  else
    terminal.note(
      `${done} ${formatPlural(plants, "plant")}: ${path}, ${formatBytes(bytes)}.\nSHA-256 ${sha256}\n${digestText(copied)}`,
    );
  if (copied.problems.length > 0)
    terminal.warn(
      `${from} is not as plant-store stores plants, and so is the copy: ${copied.problems.join("; ")}.`,
    );
  if (changedBlocks.length > 0)
    terminal.warn(
      `Plants in ${from} were changed after they were stored, in ${describeEachBlock(changedBlocks).join(", ")}. The copy has them as they are now; an older backup that verify finds sound has them as they were.`,
    );
}

/** A line with the digest of a store; empty before the first block is full. */
export function digestText({ coveredPlants, digest }: StoreDigest): string {
  return digest === null ? "" : `Digest of the first ${formatPlural(coveredPlants, "plant")}: ${digest}\n`;
}
