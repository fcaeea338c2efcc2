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

export const verify = command({
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
    const print = isSound ? terminal.note : terminal.err;
    if (json) terminal.printJson(presentVerified(path, verified, compared, isSound));
    else print(verifiedText(path, verified) + comparedText(path, compared));
    return isSound;
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

function verifiedText(path: string, verified: Verified): string {
  const { problems, lastBackup } = verified;
  if (problems.length > 0)
    return `${path} is damaged:\n${listed(problems)}Restore a sound backup, or check --database if it is not a data file.\n`;
  const found = `${path}: no damage found. ${checkedText(verified)}\n${digestText(verified)}`;
  if (lastBackup === undefined) return found;
  const covered = formatPlural(lastBackup.coveredPlants, "plant");
  return `${found}Its first ${covered} are those of the last backup, made at ${isoMinutes(lastBackup.atMs)}.\n`;
}

/** Says no more than what was checked. */
function checkedText({ plants, matchedPlants, hasChecksum }: Verified): string {
  const matched = `${formatCount(matchedPlants)} against the digests stored with them`;
  const others = `${formatCount(plants - matchedPlants)} for form only`;
  const checksum = hasChecksum ? " The checksum of the file is correct." : "";
  return `${formatPlural(plants, "plant")} checked: ${matched}, ${others}.${checksum}`;
}

function comparedText(path: string, compared: Compared | undefined): string {
  if (compared === undefined) return "";
  const { path: against, comparedPlants, differences } = compared;
  return differences.length > 0
    ? `${path} and ${against} differ:\n${listed(differences)}`
    : `${against} has the same ${formatPlural(comparedPlants, "plant")}.\n`;
}

function listed(lines: readonly string[]): string {
  return lines.map((line) => `  ${line}\n`).join("");
}
