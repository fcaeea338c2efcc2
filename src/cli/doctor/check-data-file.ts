import { DataFileProblem } from "../../storage/sqlite/data-file-problem.ts";
import { type DataFileDiagnosis, diagnoseDataFile } from "../../storage/sqlite/reading/diagnosis.ts";
import { formatBytes } from "../progress-line.ts";
import { checkLastPlant } from "./check-clock.ts";
import { type Finding, findingsOf } from "./finding.ts";

// The service warns of a WAL of this size as well.
const walBytesLarge = 256e6;

/** The data file and its WAL, whether or not a service is running. */
export function checkDataFile(path: string): Finding[] {
  const { fail, ok } = findingsOf("data file");
  let found: DataFileDiagnosis | undefined;
  try {
    found = diagnoseDataFile(path);
  } catch (error) {
    if (!(error instanceof DataFileProblem)) throw error;
    return [fail(error.message, "docs/operating.md describes recovery, under Crashes and Troubleshooting.")];
  }
  if (found === undefined) return [ok(`${path} does not exist yet; the first start creates it`)];
  return [
    describeFile(path, found),
    checkWal(found),
    checkDurability(found),
    checkLastPlant(found.lastPlantMs),
  ].filter((finding) => finding !== undefined);
}

function describeFile(path: string, { bytes, hasWriter, failure }: DataFileDiagnosis): Finding {
  const { ok, warn } = findingsOf("data file");
  if (failure !== undefined && !hasWriter)
    return warn(
      `${path}: an fsync failed in the last process`,
      "The next start rebuilds the file, which needs as much free space as the file. Check the disk (dmesg, smartctl) first.",
    );
  const use = hasWriter ? "a service has it open" : "no service has it open";
  return ok(`${path}, ${formatBytes(bytes)}, ${use}`);
}

function checkWal({ walBytes, hasWriter }: DataFileDiagnosis): Finding {
  const { ok, warn } = findingsOf("WAL");
  const size = formatBytes(walBytes);
  if (walBytes > walBytesLarge)
    return warn(
      `${size}, which is large`,
      "Another process probably has a read transaction open, such as a sqlite3 shell: end it, and the WAL shrinks.",
    );
  if (walBytes > 0 && !hasWriter)
    return ok(`${size} from a process that did not end cleanly; the next start recovers it`);
  return ok(walBytes === 0 ? "empty" : size);
}

function checkDurability({ journalMode, pageBytes }: DataFileDiagnosis): Finding {
  const { ok, warn } = findingsOf("durability");
  const message = `journal_mode ${journalMode}, page_size ${pageBytes}; the service sets synchronous=FULL itself`;
  return journalMode === "wal"
    ? ok(message)
    : warn(
        message,
        "Another program changed the journal mode. The next start of the service sets it to WAL.",
      );
}
