import {
  type ComparedWith,
  compareWith,
  type Verified,
  verifyDataFile,
} from "../storage/sqlite/copying/verify.ts";
import { formatCount, formatPlural } from "../text/counts.ts";
import { isoMinutes, isoTime } from "../text/time.ts";
import { command, flag, jsonFlag } from "./command.ts";
import { digestText } from "./copy-report.ts";
import { dataFile } from "./openings.ts";
import { startsOver, withSteps } from "./progress.ts";
import type { Terminal } from "./terminal.ts";

export const verify = command({
  usage: "verify",
  summary: "check the data file and every row in it",
  examples: ["plant-store verify", "plant-store verify --database backup.db --against data/plant-store.db"],
  flags: {
    against: flag("PATH", "also check that this data file has the same plants", String),
    json: jsonFlag,
  },
  opens: dataFile("pg_amcheck"),
  async run({ flags: { against, json }, opened: { path } }, terminal) {
    const next = `No file was changed. ${startsOver}`;
    const [verified, compared] = await withSteps(terminal, { object: path, next }, async (onStep) => [
      await verifyDataFile(path, onStep),
      against === undefined ? undefined : { path: against, ...(await compareWith(path, against, onStep)) },
    ]);
    const isSound = verified.problems.length === 0 && (!compared || compared.differences.length === 0);
    if (json) {
      terminal.printJson(presentVerified(path, verified, compared, isSound));
    } else {
      printVerified(terminal, path, verified);
      if (compared) printCompared(terminal, path, compared);
    }
    return isSound ? 0 : 1;
  },
});

/** What a comparison with another data file has found. */
interface Compared extends ComparedWith {
  /** The path of that file. */
  readonly path: string;
}

/** What --json prints. */
function presentVerified(
  path: string,
  { schema, lastBackup, ...verified }: Verified,
  against: Compared | undefined,
  sound: boolean,
) {
  return {
    path,
    schema: schema ?? null,
    plants: verified.plants,
    matchedPlants: verified.matchedPlants,
    checksummed: verified.hasChecksum,
    coveredPlants: verified.coveredPlants,
    digest: verified.digest,
    formOnlyPlants: verified.plants - verified.matchedPlants,
    lastBackupAt: isoTime(lastBackup?.atMs) ?? null,
    // Undefined, and so left out, without --against.
    against,
    sound,
    problems: verified.problems,
  };
}

function printVerified(terminal: Terminal, path: string, verified: Verified): void {
  const { problems, lastBackup } = verified;
  if (problems.length > 0) {
    terminal.err(
      `${path} is damaged:\n${listed(problems)}Restore a sound backup, or check --database if it is not a data file.\n`,
    );
    return;
  }
  terminal.note(`${path}: no damage found. ${checkedText(verified)}\n${digestText(verified)}`);
  if (lastBackup !== undefined) {
    const at = isoMinutes(lastBackup.atMs);
    terminal.note(
      `Its first ${formatPlural(lastBackup.coveredPlants, "plant")} are those of the last backup, made at ${at}.\n`,
    );
  }
}

/** Says no more than what was checked. */
function checkedText({ plants, matchedPlants, hasChecksum }: Verified): string {
  const matched = `${formatCount(matchedPlants)} against the digests stored with them`;
  const others = `${formatCount(plants - matchedPlants)} for form only`;
  const checksum = hasChecksum ? " The checksum of the file is correct." : "";
  return `${formatPlural(plants, "plant")} checked: ${matched}, ${others}.${checksum}`;
}

function printCompared(
  terminal: Terminal,
  path: string,
  { path: against, comparedPlants, differences }: Compared,
): void {
  if (differences.length > 0) terminal.err(`${path} and ${against} differ:\n${listed(differences)}`);
  else terminal.note(`${against} has the same ${formatPlural(comparedPlants, "plant")}.\n`);
}

function listed(lines: readonly string[]): string {
  return lines.map((line) => `  ${line}\n`).join("");
}
