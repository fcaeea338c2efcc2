import { readConfig } from "../config/read-config.ts";
import { settings } from "../config/settings.ts";
import { isDatabaseUrl } from "../storage/postgres/database-url.ts";
import {
  type BackupFile,
  backUp,
  restore as restoreBackup,
  type Step,
} from "../storage/sqlite/maintenance/backup.ts";
import { verify as verifyFile } from "../storage/sqlite/maintenance/verify.ts";
import { type Arguments, type Command, jsonFlag } from "./command.ts";
import { formatCount, formatMegabytes, secondsSince, showProgress } from "./progress-line.ts";
import { escapeInvisible, printJson, type Terminal, UsageError } from "./terminal.ts";

// Not the setting of that name, which may also be a PostgreSQL URL.
const flags = {
  database: { placeholder: "PATH", help: `the data file (${settings.database.default})` },
  json: jsonFlag,
};

export const backup: Command = {
  usage: "backup FILE",
  positional: "required",
  summary: "back up the data file, even while the service runs",
  examples: ["plant-store backup plants-2026-11-15.db"],
  flags,
  settings: [],
  run(args, terminal) {
    const from = dataFile(args, "pg_dump");
    return copyFile(args, terminal, "Backed up", (onStep) => backUp(from, args.positional, onStep));
  },
};

export const restore: Command = {
  usage: "restore FILE",
  positional: "required",
  summary: "restore a missing data file from a backup",
  examples: ["plant-store restore plants-2026-11-15.db --database data/plant-store.db"],
  flags,
  settings: [],
  run(args, terminal) {
    const to = dataFile(args, "pg_restore");
    return copyFile(args, terminal, "Restored", (onStep) => restoreBackup(args.positional, to, onStep));
  },
};

export const verify: Command = {
  usage: "verify",
  summary: "check the data file and every row in it",
  examples: ["plant-store verify", "plant-store verify --database backup.db"],
  flags,
  settings: [],
  async run(args, terminal) {
    const path = dataFile(args, "pg_amcheck");
    let progress = "checking the database and its indexes";
    using line = showProgress(terminal, () => progress);
    const { plants, checksummed, problems } = await verifyFile(path, (checked, of) => {
      progress = `checking rows: ${formatCount(checked)} of ${formatCount(of)}`;
    });
    line[Symbol.dispose]();
    const sound = problems.length === 0;
    if (args.has("json")) printJson(terminal, { path, plants, checksummed, sound, problems });
    else if (sound)
      terminal.err(
        `${path} is intact: ${formatCount(plants)} plants, every row valid and in order${checksummed ? ", checksum correct" : ""}.\n`,
      );
    else
      terminal.err(
        `${path} is damaged:\n${problems.map((problem) => `  ${escapeInvisible(problem)}\n`).join("")}Restore it from a backup.\n`,
      );
    return sound ? 0 : 1;
  },
};

/** Copies with progress, and prints the result. */
async function copyFile(
  args: Arguments,
  terminal: Terminal,
  verb: string,
  work: (onStep: (step: Step) => void) => Promise<BackupFile>,
): Promise<number> {
  const startMs = performance.now();
  let step: Step = "copying";
  using line = showProgress(terminal, () => `${step}  ${secondsSince(startMs)} s`);
  const copied = await work((next) => {
    step = next;
  });
  line[Symbol.dispose]();
  const { path, bytes, plants, sha256 } = copied;
  if (args.has("json")) printJson(terminal, copied);
  else
    terminal.err(
      `${verb} and checked ${formatCount(plants)} plants: ${path}, ${formatMegabytes(bytes)}.\nSHA-256 ${sha256}\n`,
    );
  return 0;
}

function dataFile(args: Arguments, postgresTool: string): string {
  const { database } = readConfig(args.sources);
  if (isDatabaseUrl(database))
    throw new UsageError(`this command is for data files; for PostgreSQL use ${postgresTool}`);
  return database;
}
