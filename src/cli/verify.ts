import { type Verified, verifyDataFile } from "../storage/sqlite/copying/verify.ts";
import { formatCount, formatPlural } from "../text/counts.ts";
import { isoMinutes, isoTime } from "../text/time.ts";
import { command, jsonFlag } from "./command.ts";
import { digestText } from "./copy-report.ts";
import { dataFile } from "./openings.ts";
import { startsOver, withSteps } from "./progress.ts";

export const verify = command({
  summary: "check the data file and every row in it",
  examples: ["plant-store verify", "plant-store verify --database backup.db"],
  flags: { json: jsonFlag },
  opens: dataFile("pg_amcheck"),
  async run({ flags: { json }, opened: { path } }, terminal) {
    const next = `No file was changed. ${startsOver}`;
    const verified = await withSteps(terminal, { object: path, next }, (onStep) =>
      verifyDataFile(path, onStep),
    );
    const isSound = verified.problems.length === 0;
    const print = isSound ? terminal.note : terminal.err;
    if (json) terminal.printJson(presentVerified(path, verified));
    else print(verifiedText(path, verified));
    return isSound;
  },
});

/** What --json prints. */
function presentVerified(path: string, { schema, lastBackup, ...verified }: Verified) {
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
    sound: verified.problems.length === 0,
    problems: verified.problems,
  };
}

function verifiedText(path: string, verified: Verified): string {
  const { problems, lastBackup } = verified;
  const listed = problems.map((problem) => `  ${problem}\n`).join("");
  if (problems.length > 0)
    return `${path} is not sound:\n${listed}Restore a sound backup, or check --database if it is not a data file.\n`;
  const found = `${path}: no damage found. ${checkedText(verified)}\n${digestText(verified)}`;
  if (lastBackup === undefined || lastBackup.coveredPlants === 0) return found;
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
