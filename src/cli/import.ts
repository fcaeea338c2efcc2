import { readConfig } from "../config/read-config.ts";
import { secrets, settings } from "../config/settings.ts";
import { describeSource } from "../files/detect-source.ts";
import { detectFormat, fileFormats, readRows, rowReaderFor } from "../files/read-rows.ts";
import { isSameFile } from "../storage/sqlite/data-file/inode.ts";
import { misuse, Problem } from "../system/problem.ts";
import { oneOf } from "../text/parsers.ts";
import { command, flag, jsonFlag, switchFlag } from "./command.ts";
import { refuseUnreadableFile } from "./file-problem.ts";
import { openInput } from "./import-input.ts";
import { formatReport, RefusedFile, Tally } from "./import-report.ts";
import { createByRequest, createNone, createRows, type RowOutcome } from "./import-rows.ts";
import { resumes, showProgress } from "./progress.ts";
import { attemptsFlag, describeServiceError, listenerUrl, patientClient, urlFlag } from "./remote-service.ts";

const scope = "plants:create";

export const importPlants = command({
  summary: "send the plants in a file to the service; run it again to resume",
  examples: [
    "plant-store import plants.ndjson",
    "plant-store import plants.csv --dry-run",
    "plant-store import plants.json --url https://example.org/garden/v1",
    "plant-store import - --format json --refused refused.json < plants.json",
  ],
  flags: {
    url: urlFlag("the base URL of the service (from --base-url or --listen)"),
    format: flag(
      "FORMAT",
      `${fileFormats.join(", ")} (detected from the name and the first bytes)`,
      oneOf(fileFormats),
    ),
    attempts: attemptsFlag,
    "dry-run": switchFlag("check every row without sending it"),
    refused: flag("FILE", "write refused rows to this file, unchanged", String),
    json: jsonFlag,
  },
  argument: { name: "FILE|-", parse: String },
  settings: [settings.listen, settings.baseUrl, settings.bodyBytesMax],
  secrets: [
    { ...secrets.accessToken, meaning: "a token with the scope plants:create (not needed for --dry-run)" },
  ],

  async run({ flags, argument: file, sources }, terminal) {
    const { json, refused: refusedPath, "dry-run": isDryRun } = flags;
    const config = readConfig(sources);
    // First, so that nobody creates a token for a file that is not there.
    if (file !== "-") refuseUnreadableFile(file);
    if (refusedPath !== undefined && isSameFile(refusedPath, file === "-" ? "/dev/stdin" : file))
      throw misuse("--refused must not name the file that is imported.");
    const done = new AbortController();
    const baseUrl = flags.url?.href ?? listenerUrl(config.listen, config, config.baseUrl);
    const target = { baseUrl, attemptsMax: flags.attempts, scope } as const;
    const create = isDryRun
      ? createNone()
      : createByRequest(patientClient(target, sources, terminal, done.signal));

    // What is read, and how: the format may be known only by its first bytes, the separator of a CSV file by its first row.
    using input = await openInput(file, terminal, done.signal);
    const format = flags.format ?? detectFormat(file, input.opening);
    const reader = rowReaderFor(format, config.bodyBytesMax);
    const name = file === "-" ? "standard input" : file;
    const source = () => describeSource(format, input.isGzip, reader.separator);

    // The outcomes so far, in a line of progress and at the end.
    using refusedFile = refusedPath === undefined ? undefined : new RefusedFile(refusedPath, format, reader);
    const tally = new Tally();
    const report = (failure: string | undefined): boolean => {
      const { counts, listed: refusals, seconds } = tally;
      const hasSucceeded = failure === undefined && counts.refused === 0;
      const print = hasSucceeded ? terminal.note : terminal.err;
      const rounded = Math.round(seconds * 1000) / 1000;
      // A failure that is undefined is left out.
      if (json) terminal.printJson({ source: source(), ...counts, failure, refusals, seconds: rounded });
      else print(`Read ${name} as ${source()}.\n${formatReport(tally, { failure, refusedPath, isDryRun })}`);
      return hasSucceeded;
    };
    using line = showProgress(terminal, () => ({
      what: `${isDryRun ? "checking" : "importing"} ${name} as ${source()}`,
      share: input.share(tally.bytes),
      outcome: tally.outcome(),
    }));
    terminal.ifInterrupted(() => {
      refusedFile?.finish();
      report(`Interrupted after line ${tally.lastLine}.${isDryRun ? "" : ` ${resumes}`}`);
    });

    // Every row, in the order of the file.
    const rows = readRows(input.chunks, reader);
    const error = await countOutcomes(createRows(rows, create, done.signal), tally, refusedFile);
    // After a failure, nobody waits for the requests in flight.
    done.abort();
    line[Symbol.dispose]();
    return report(error === undefined ? undefined : failureText(error, tally, isDryRun));
  },
});

/** Counts the outcomes and saves the refused rows, up to a failure, which it returns. */
async function countOutcomes(
  outcomes: AsyncIterable<RowOutcome>,
  tally: Tally,
  refusedFile: RefusedFile | undefined,
): Promise<unknown> {
  try {
    try {
      for await (const outcome of outcomes) {
        tally.add(outcome);
        if (outcome.kind === "refused") refusedFile?.add(outcome.row);
      }
    } finally {
      refusedFile?.finish();
    }
  } catch (error) {
    return error;
  }
}

/** Why not every row has its outcome, and what to do. A file of which no row can be read was not imported in part. @throws Problem */
function failureText(error: unknown, { rows }: Tally, isDryRun: boolean): string {
  const isPartial = error instanceof Problem && rows > 0;
  const reason = isPartial ? error.message : describeServiceError(error, scope);
  if (reason === undefined) throw error;
  return `The import stopped. ${reason}${isDryRun ? "" : " Once that is fixed, run this again; it resumes."}`;
}
