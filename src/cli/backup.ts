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
import type { Command } from "./command.ts";
import { type Arguments, sources } from "./flags.ts";
import { grouped, megabytes, showLine } from "./progress-line.ts";
import { Misuse, type Terminal, visible } from "./terminal.ts";

// Not the setting of that name, which may be a PostgreSQL as well.
const flags = {
  database: { placeholder: "PATH", help: `the data file (${settings.database.default})` },
  json: { placeholder: undefined, help: "print JSON" },
};

export const backup: Command = {
  usage: "backup FILE",
  summary: "write a copy of the data file, also while the service runs",
  examples: ["plant-store backup plants-2026-11-15.db"],
  flags,
  settings: [],
  async run(args, terminal) {
    const to = onlyFile(args, "backup needs one FILE to write to");
    const kept = await stepByStep(terminal, (onStep) =>
      backUp(dataFile(args, terminal, "pg_dump"), to, onStep),
    );
    tell(kept, args, terminal, "Backed up");
    return 0;
  },
};

export const restore: Command = {
  usage: "restore FILE",
  summary: "put a backup in the place of a data file that is not there",
  examples: ["plant-store restore plants-2026-11-15.db --database data/plant-store.db"],
  flags,
  settings: [],
  async run(args, terminal) {
    const from = onlyFile(args, "restore needs the FILE of a backup");
    const kept = await stepByStep(terminal, (onStep) =>
      restoreBackup(from, dataFile(args, terminal, "pg_restore"), onStep),
    );
    tell(kept, args, terminal, "Restored");
    return 0;
  },
};

export const verify: Command = {
  usage: "verify",
  summary: "check the data file and every row in it",
  examples: ["plant-store verify", "plant-store verify --database backup.db"],
  flags,
  settings: [],
  async run(args, terminal) {
    if (args.words.length > 0)
      throw new Misuse(`"${args.words[0]}" is not expected here; --database names the file`);
    const path = dataFile(args, terminal, "pg_amcheck");
    let told = "checking the database and its indexes";
    using line = showLine(terminal, () => told);
    const { plants, checksummed, problems } = await verifyFile(path, (checked, of) => {
      told = `checking rows: ${grouped(checked)} of ${grouped(of)}`;
    });
    line[Symbol.dispose]();
    if (args.has("json"))
      terminal.out(
        `${JSON.stringify({ path, plants, checksummed, sound: problems.length === 0, problems }, null, 2)}\n`,
      );
    else if (problems.length === 0)
      terminal.err(
        `${path} is sound: ${grouped(plants)} plants, every row whole and in order${checksummed ? ", its checksum right" : ""}.\n`,
      );
    else
      terminal.err(
        `${path} is damaged:\n${problems.map((problem) => `  ${visible(problem)}\n`).join("")}Restore it from a backup.\n`,
      );
    return problems.length === 0 ? 0 : 1;
  },
};

async function stepByStep(
  terminal: Terminal,
  work: (onStep: (step: Step) => void) => Promise<BackupFile>,
): Promise<BackupFile> {
  const startMs = performance.now();
  let step: Step = "copying";
  using _ = showLine(terminal, () => `${step}  ${Math.floor((performance.now() - startMs) / 1000)} s`);
  return await work((next) => {
    step = next;
  });
}

function tell(kept: BackupFile, args: Arguments, terminal: Terminal, what: string): void {
  if (args.has("json")) terminal.out(`${JSON.stringify(kept, null, 2)}\n`);
  else
    terminal.err(
      `${what} ${grouped(kept.plants)} plants: ${kept.path}, ${megabytes(kept.bytes)}, checked.\nSHA-256 ${kept.sha256}\n`,
    );
}

function dataFile(args: Arguments, terminal: Terminal, tool: string): string {
  const { database } = readConfig(sources(args, terminal));
  if (isDatabaseUrl(database))
    throw new Misuse(`this is for the embedded store; PostgreSQL has ${tool} for it`);
  return database;
}

function onlyFile({ words }: Arguments, needed: string): string {
  const [file, ...more] = words;
  if (file === undefined || more.length > 0) throw new Misuse(needed);
  return file;
}
