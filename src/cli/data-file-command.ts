import { readConfig } from "../config/read-config.ts";
import { settings } from "../config/settings.ts";
import { isDatabaseUrl } from "../storage/postgres/database-url.ts";
import type { StoreDigest } from "../storage/sqlite/block-digests.ts";
import { describeEachBlock } from "../storage/sqlite/blocks.ts";
import type { BackupFile } from "../storage/sqlite/maintenance/backup.ts";
import { type Arguments, jsonFlag } from "./command.ts";
import {
  formatBytes,
  formatPlants,
  secondsSince,
  showProgress,
  type Terminal,
  UsageError,
} from "./terminal.ts";

// What `backup`, `restore` and `verify` share: each works on data files, and not on PostgreSQL.

/** The flag --database is not the setting of that name, which may also be a PostgreSQL URL. */
export const dataFileFlags = {
  database: { placeholder: "PATH", help: `the data file (${settings.database.default})` },
  json: jsonFlag,
};

/**
 * The path that --database names.
 * @throws UsageError it is a PostgreSQL URL; the message names the tool that does this for PostgreSQL.
 */
export function dataFile(args: Arguments, postgresTool: string): string {
  const { database } = readConfig(args.sources);
  if (isDatabaseUrl(database))
    throw new UsageError(`this command is for data files; for PostgreSQL use ${postgresTool}`);
  return database;
}

/** Shows what is being done, and for how long, until it is. */
export async function withProgress<Result>(
  terminal: Terminal,
  what: string,
  work: () => Promise<Result>,
): Promise<Result> {
  const startMs = performance.now();
  using _line = showProgress(terminal, () => `${what}  ${secondsSince(startMs)} s`);
  return await work();
}

/** What was copied, for people. */
export function summaryOf(verb: string, { path, bytes, plants, sha256, ...digest }: BackupFile): string {
  const done = `${verb} ${formatPlants(plants)}: ${path}, ${formatBytes(bytes)}.`;
  return `${done}\nSHA-256 ${sha256}\n${digestText(digest)}`;
}

/** A line with the digest of a store; empty before the first block is full. */
export function digestText({ coveredPlants, digest }: StoreDigest): string {
  return digest === null ? "" : `Digest of the first ${formatPlants(coveredPlants)}: ${digest}\n`;
}

/** A warning: the copy is complete and the same as its source, but the source is not as it was stored. */
export function changedText(from: string, { changedBlocks }: Pick<BackupFile, "changedBlocks">): string {
  const blocks = describeEachBlock(changedBlocks).join(", ");
  return `plant-store: plants in ${from} were changed after they were stored, in ${blocks}. The copy has them as they are now; an older backup may have them as they were: compare them with verify --against.\n`;
}
