import { statSync } from "node:fs";
import { readConfig } from "../config/read-config.ts";
import { settings } from "../config/settings.ts";
import { parseCount } from "../config/values.ts";
import { isDatabaseUrl } from "../storage/postgres/database-url.ts";
import {
  type BackupFile,
  backUp,
  recordBackup,
  restore as restoreBackup,
  streamBackup,
} from "../storage/sqlite/maintenance/backup.ts";
import { BackupFolder } from "../storage/sqlite/maintenance/backup-folder.ts";
import { checksumFile } from "../storage/sqlite/maintenance/checksum.ts";
import { verify as verifyFile } from "../storage/sqlite/maintenance/verify.ts";
import { parseFlag } from "./arguments.ts";
import { type Arguments, type Command, jsonFlag } from "./command.ts";
import { lostWalWarning, writing } from "./local-files.ts";
import {
  escapeInvisible,
  formatBytes,
  formatPlants,
  printJson,
  secondsSince,
  showProgress,
  type Terminal,
  UsageError,
} from "./terminal.ts";

const keepMax = 100_000;

// Not the setting of that name, which may also be a PostgreSQL URL.
const flags = {
  database: { placeholder: "PATH", help: `the data file (${settings.database.default})` },
  json: jsonFlag,
};

export const backup: Command = {
  usage: "backup FILE|DIR|-",
  positional: true,
  summary: "back up the data file, even while the service runs",
  examples: ["plant-store backup plants-2026-11-15.db", "plant-store backup backups --keep 7"],
  flags: {
    keep: {
      placeholder: "N",
      help: "keep the newest N backups in the folder and delete the others",
    },
    ...flags,
  },
  async run(args, terminal) {
    const from = dataFile(args, "pg_dump");
    const keep = parseFlag(args, "keep", (text) => parseCount(text, 1, keepMax));
    const to = args.positional;
    const existing = writing(to, () => statSync(to, { throwIfNoEntry: false }));
    const isFolder = existing?.isDirectory() ?? keep !== undefined;
    if (keep !== undefined && (to === "-" || !isFolder)) throw new UsageError("--keep needs a folder");
    if (to === "-") return backUpToOutput(from, args, terminal);
    const folder = isFolder ? new BackupFolder(from, to) : undefined;
    using _lock = folder?.lock();
    const atMs = Date.now();
    const file = folder?.prepareFile(atMs) ?? to;
    const done = await withProgress(terminal, "backing up", () => backUp(from, file));
    record(from, atMs, terminal);
    const removed = keep === undefined ? [] : (folder?.removeOldest(keep, file) ?? []);
    if (args.has("json")) printJson(terminal, { ...done, removed });
    else {
      terminal.note(summaryOf("Backed up and checked", done));
      for (const path of removed) terminal.note(`Removed ${path}.\n`);
    }
    return 0;
  },
};

export const restore: Command = {
  usage: "restore FILE",
  positional: true,
  summary: "restore a data file from a backup",
  examples: ["plant-store restore plants-2026-11-15.db --database data/plant-store.db"],
  flags,
  async run(args, terminal) {
    const to = dataFile(args, "pg_restore");
    const from = args.positional;
    const done = await withProgress(terminal, "restoring", () =>
      restoreBackup(from, to, lostWalWarning(terminal)),
    );
    if (args.has("json")) printJson(terminal, done);
    else terminal.note(summaryOf(done.checksummed ? "Restored and checked" : "Restored", done));
    if (!done.checksummed)
      terminal.err(
        `plant-store: ${checksumFile(from)} is missing, so only the structure of ${from} was checked, not its content. To check both, put that file beside the backup and restore again.\n`,
      );
    return 0;
  },
};

export const verify: Command = {
  usage: "verify",
  summary: "check the data file and every row in it",
  examples: ["plant-store verify", "plant-store verify --database backup.db"],
  flags,
  async run(args, terminal) {
    const path = dataFile(args, "pg_amcheck");
    const { plants, checksummed, problems } = await withProgress(terminal, "checking", () =>
      verifyFile(path),
    );
    const sound = problems.length === 0;
    if (args.has("json")) printJson(terminal, { path, plants, checksummed, sound, problems });
    else if (sound)
      terminal.note(
        `${path} is intact: ${formatPlants(plants)}, every row valid and in order${checksummed ? ", checksum correct" : ""}.\n`,
      );
    else
      terminal.err(
        `${path} is damaged:\n${problems.map((problem) => `  ${escapeInvisible(problem)}\n`).join("")}Restore it from a backup, or check --database if it is not a data file.\n`,
      );
    return sound ? 0 : 1;
  },
};

async function backUpToOutput(from: string, args: Arguments, terminal: Terminal): Promise<number> {
  if (args.has("json")) throw new UsageError("--json cannot be combined with a backup to standard output");
  if (terminal.outIsTerminal)
    throw new UsageError("standard output is a terminal; redirect it to a file or a pipe");
  const atMs = Date.now();
  const done = await withProgress(terminal, "backing up", () =>
    streamBackup(from, terminal.outWithBackpressure),
  );
  record(from, atMs, terminal);
  terminal.note(summaryOf("Backed up and checked", { ...done, path: "standard output" }));
  return 0;
}

/** A backup is good even if its time cannot be recorded, such as on read-only media. */
function record(from: string, atMs: number, { err }: Terminal): void {
  try {
    recordBackup(from, atMs);
  } catch (error) {
    err(`plant-store: the time of this backup could not be recorded: ${(error as Error).message}\n`);
  }
}

async function withProgress<Result>(
  terminal: Terminal,
  what: string,
  work: () => Promise<Result>,
): Promise<Result> {
  const startMs = performance.now();
  using _line = showProgress(terminal, () => `${what}  ${secondsSince(startMs)} s`);
  return await work();
}

function summaryOf(verb: string, { path, bytes, plants, sha256 }: BackupFile): string {
  return `${verb} ${formatPlants(plants)}: ${path}, ${formatBytes(bytes)}.\nSHA-256 ${sha256}\n`;
}

function dataFile(args: Arguments, postgresTool: string): string {
  const { database } = readConfig(args.sources);
  if (isDatabaseUrl(database))
    throw new UsageError(`this command is for data files; for PostgreSQL use ${postgresTool}`);
  return database;
}
