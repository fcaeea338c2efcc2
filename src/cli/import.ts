import { isRetryableStatus } from "../client/errors.ts";
import { ServiceRefused, ServiceUnreachable } from "../client/plant-store-client.ts";
import { type Config, readAccessToken, readConfig } from "../config/read-config.ts";
import { parseBaseUrl } from "../config/setting-parsers.ts";
import { describeSource } from "../files/detect-source.ts";
import type { InputRow } from "../files/input-row.ts";
import { detectFormat, type FileFormat, fileFormats, readRows, rowReaderFor } from "../files/read-rows.ts";
import { reachableUrl } from "../http/listen-address.ts";
import { isSameFile } from "../storage/sqlite/data-file/inode.ts";
import { messageOf } from "../system/errors.ts";
import { misuse, Problem } from "../system/problem.ts";
import { oneOf } from "../text/parsers.ts";
import { readFlag, UsageError } from "./arguments.ts";
import type { Arguments, Command } from "./command.ts";
import { refuseUnreadableFile } from "./file-problem.ts";
import { openInput } from "./import-input.ts";
import { formatReport, RefusedFile, Tally } from "./import-report.ts";
import {
  createByRequest,
  createNone,
  createRows,
  type ImportTarget,
  type RowOutcome,
  withSilenceTimer,
} from "./import-rows.ts";
import { showProgress } from "./progress.ts";
import { attemptsFlag, readAttempts } from "./retries.ts";
import { abortOnStopSignal, escapeInvisible, interruptedCode, printJson, type Terminal } from "./terminal.ts";

// A service that has not responded for this long may not be there.
const silentMsMax = 2000;

export const importPlants: Command = {
  usage: "import FILE|-",
  needsPositional: true,
  summary: "send the plants in a file to the service; run it again to resume",
  examples: [
    "plant-store import plants.ndjson",
    "plant-store import plants.csv --dry-run",
    "plant-store import plants.json --url https://example.org/garden/v1",
    "plant-store import - --format json --refused refused.json < plants.json",
  ],
  flags: {
    url: { placeholder: "URL", help: "the base URL of the service (from --base-url or --listen)" },
    format: {
      placeholder: "FORMAT",
      help: `${fileFormats.join(", ")} (detected from the name and the first bytes)`,
    },
    attempts: attemptsFlag,
    "dry-run": { help: "check every row without sending it" },
    refused: { placeholder: "FILE", help: "write refused rows to this file, unchanged" },
    json: { help: "print the report as JSON" },
  },
  settings: ["listen", "baseUrl", "bodyBytesMax"],
  secrets: { accessToken: "a token with the scope plants:create (not needed for --dry-run)" },

  async run(args, terminal) {
    const options = readOptions(args);
    const isDryRun = options.target === undefined;
    const stop = abortOnStopSignal(terminal);
    const result = await importFile(options, terminal, stop);

    const { source, tally, isInterrupted } = result;
    const failure = endingText(result, isDryRun);
    const hasSucceeded = failure === undefined && tally.refused === 0;
    if (args.has("json")) {
      printJson(terminal, presentReport(source, tally, failure));
    } else {
      const print = hasSucceeded ? terminal.note : terminal.err;
      print(formatReport(tally, { failure, refusedPath: options.refusedPath, isDryRun }));
    }
    if (isInterrupted) return interruptedCode(stop.reason);
    return hasSucceeded ? 0 : 1;
  },
};

interface ImportOptions {
  /** The path of a file, or `-` for standard input. */
  readonly file: string;
  /** Undefined if it is to be detected. */
  readonly format: FileFormat | undefined;
  readonly rowBytesMax: number;
  /** Undefined in a dry run, which sends nothing. */
  readonly target: ImportTarget | undefined;
  readonly refusedPath: string | undefined;
}

function readOptions(args: Arguments): ImportOptions {
  const file = args.positional;
  const format = readFlag(args, "format", oneOf(fileFormats));
  const config = readConfig(args.sources);
  // First, so that nobody creates a token for a file that is not there.
  if (file !== "-") refuseUnreadableFile(file);
  const target = args.has("dry-run") ? undefined : readTarget(args, config);
  const refusedPath = args.value("refused");
  if (refusedPath !== undefined && isSameFile(refusedPath, file === "-" ? "/dev/stdin" : file))
    throw new UsageError("--refused must not name the file that is imported");
  return { file, format, rowBytesMax: config.bodyBytesMax, target, refusedPath };
}

function readTarget(args: Arguments, { baseUrl, listen, tls }: Config): ImportTarget {
  const token = readAccessToken(args.sources);
  if (token === undefined)
    throw misuse(
      "Set PLANT_STORE_ACCESS_TOKEN. To create a token, on the machine of the service: plant-store token create --name NAME",
    );
  const configuredUrl = reachableUrl(baseUrl, { ...listen, isSecure: tls !== undefined });
  const url = readFlag(args, "url", parseBaseUrl)?.href ?? configuredUrl;
  return { url, token, attemptsMax: readAttempts(args) };
}

/** How an import ended. */
interface ImportResult {
  /** What the input was read as, for people. */
  readonly source: string;
  readonly tally: Tally;
  /** What ended it early; undefined if every row has its outcome. */
  readonly error: unknown;
  readonly isInterrupted: boolean;
}

/** Sends the rows of the file, or only checks them, until its end, a failure or a stop. */
async function importFile(
  { file, format: chosenFormat, rowBytesMax, target, refusedPath }: ImportOptions,
  terminal: Terminal,
  stop: AbortSignal,
): Promise<ImportResult> {
  // What is read, and how: the format may be known only by its first bytes, the separator of a CSV file by its first row.
  const done = new AbortController();
  const stopOrDone = AbortSignal.any([stop, done.signal]);
  using input = await openInput(file, terminal, stopOrDone);
  const format = chosenFormat ?? detectFormat(file, input.opening);
  const reader = rowReaderFor(format, rowBytesMax);
  const name = file === "-" ? "standard input" : file;
  const source = () => describeSource(format, input.isGzip, reader.separator);

  // Where the rows go, and their outcomes.
  using refusedFile = refusedPath === undefined ? undefined : new RefusedFile(refusedPath, format, reader);
  const tally = new Tally();
  const { create, silentMs } = withSilenceTimer(
    target === undefined ? createNone() : createByRequest(target),
  );

  // What the terminal shows meanwhile.
  using line = showProgress(terminal, () => {
    const isSilent = target !== undefined && silentMs() > silentMsMax;
    const outcome = tally.outcome();
    if (isSilent)
      return { what: `Waiting for ${target.url}`, done: 0, unit: "plants", outcome, share: undefined };
    return {
      what: `${target === undefined ? "Checking" : "Importing"} ${name} (${source()})`,
      done: tally.rows,
      unit: "plants",
      outcome,
      share: input.share(tally.bytes),
    };
  });
  const announce = (): void => {
    line.clear();
    terminal.note(`Read ${escapeInvisible(name)} as ${source()}.\n`);
  };

  // Every row, in the order of the file.
  const rows = announced(readRows(input.chunks, reader), announce);
  const outcomes = createRows(rows, create, stopOrDone);
  const error = await countOutcomes(outcomes, tally, refusedFile);
  const isInterrupted = stop.aborted;
  // After a failure, nobody waits for the requests in flight.
  done.abort();
  return { source: source(), tally, error, isInterrupted };
}

/**
 * Passes the rows on, and announces how the file is read: the reader knows that by the first row, or at the end of a file without
 * any.
 */
async function* announced(
  rows: AsyncIterable<InputRow>,
  announce: () => void,
): AsyncGenerator<InputRow, void, void> {
  let isAnnounced = false;
  for await (const row of rows) {
    if (!isAnnounced) announce();
    isAnnounced = true;
    yield row;
  }
  if (!isAnnounced) announce();
}

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

/** Why not every row has its outcome, and what to do; undefined if every row has. */
function endingText({ tally, error, isInterrupted }: ImportResult, isDryRun: boolean): string | undefined {
  const ending = isInterrupted
    ? `Interrupted after line ${tally.lastLine}.`
    : importFailureText(error, tally);
  if (ending === undefined || isDryRun) return ending;
  const again = isInterrupted || isRetryableError(error) ? "Run this again" : "Fix that and run this again";
  return `${ending} ${again}; it resumes.`;
}

function importFailureText(error: unknown, { rows }: Tally): string | undefined {
  if (error === undefined) return undefined;
  if (error instanceof ServiceRefused) {
    const isToken = error.status === 401 || error.status === 403;
    const advice = isToken ? " Set PLANT_STORE_ACCESS_TOKEN to a token that may create plants." : "";
    return `The import stopped. ${error.message} (${error.error})${advice}`;
  }
  // A file of which no row can be read was not imported in part: the problem is all there is to report.
  const isPartial = error instanceof Problem && rows > 0;
  if (!isPartial && !(error instanceof ServiceUnreachable)) throw error;
  return `The import stopped. ${messageOf(error)}`;
}

/** Whether nobody has to change anything before it can succeed. */
function isRetryableError(error: unknown): boolean {
  if (error instanceof ServiceRefused) return isRetryableStatus(error.status);
  return error instanceof ServiceUnreachable;
}

/** The report as --json prints it. */
interface ReportJson {
  readonly source: string;
  readonly created: number;
  readonly replayed: number;
  readonly refused: number;
  readonly valid: number;
  /** Undefined, and so left out, if every row has its outcome. */
  readonly failure: string | undefined;
  readonly refusals: Tally["listed"];
  readonly seconds: number;
}

function presentReport(source: string, tally: Tally, failure: string | undefined): ReportJson {
  const { created, replayed, refused, valid, seconds, listed: refusals } = tally;
  return { source, created, replayed, refused, valid, failure, refusals, seconds };
}
