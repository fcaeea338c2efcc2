import { ServiceRefused, ServiceUnreachable } from "../client/plant-store-client.ts";
import { type Config, readConfig, readSecret } from "../config/read-config.ts";
import { ConfigProblem, parseBaseUrl, parseChoice, parseCount } from "../config/values.ts";
import { describeSource } from "../files/detect-source.ts";
import { BrokenFile } from "../files/input-row.ts";
import { detectFormat, fileFormats, readRows, rowReaderFor } from "../files/read-rows.ts";
import { publicUrl } from "../http/listen-address.ts";
import { isSameFile } from "../storage/sqlite/durable-files.ts";
import { messageOf } from "../system/errors.ts";
import { parseFlag } from "./arguments.ts";
import type { Arguments, Command } from "./command.ts";
import { openInput } from "./import-input.ts";
import { RefusedFile, reportText, Tally } from "./import-report.ts";
import { checkRow, createRows, type RowOutcome, sendTo, type Target } from "./import-rows.ts";
import { FileProblem } from "./local-files.ts";
import { interruptedCode, printJson, showProgress, UsageError } from "./terminal.ts";

// These take at least 15 seconds, even if jitter halves each delay and each attempt fails immediately.
const attemptsDefault = 12;
const attemptsLimit = 10_000;

export const importPlants: Command = {
  usage: "import FILE|-",
  positional: true,
  summary: "send the plants in a file to the service; run it again to resume",
  examples: [
    "plant-store import plants.ndjson",
    "plant-store import plants.csv --dry-run",
    "plant-store import - --format json --url https://example.org/garden/v1 --refused refused.json < plants.json",
  ],
  flags: {
    url: { placeholder: "URL", help: "the base URL of the service (from --base-url or --listen)" },
    format: {
      placeholder: "FORMAT",
      help: `${fileFormats.join(", ")} (detected from the name and the first bytes)`,
    },
    attempts: {
      placeholder: "COUNT",
      help: `how often to try while the service does not respond (${attemptsDefault})`,
    },
    "dry-run": { help: "check every row without sending it" },
    refused: { placeholder: "FILE", help: "write refused rows to this file, unchanged" },
    json: { help: "print the report as JSON" },
  },
  settings: ["listen", "baseUrl", "bodyBytesMax"],
  secrets: { accessToken: "a token with the scope plants:create (not needed for --dry-run)" },

  async run(args, terminal) {
    const file = args.positional;
    const chosenFormat = parseFlag(args, "format", (text) => parseChoice(text, fileFormats));
    const config = readConfig(args.sources);
    const target = args.has("dry-run") ? undefined : readTarget(args, config);
    const refusedPath = args.value("refused");
    if (refusedPath !== undefined && isSameFile(refusedPath, file === "-" ? "/dev/stdin" : file))
      throw new UsageError("--refused must not name the file that is imported");

    const stopping = new AbortController();
    const stop = stopping.signal;
    void terminal.stopSignal().then((signal) => stopping.abort(signal));
    using input = await openInput(file, terminal, stop);
    const format = chosenFormat ?? detectFormat(file, input.opening);
    const reader = rowReaderFor(format, config.bodyBytesMax);
    using refusedFile = refusedPath === undefined ? undefined : new RefusedFile(refusedPath, format, reader);
    const create = target === undefined ? checkRow : sendTo(target, stop);
    const outcomes = createRows(readRows(input.chunks, reader), create, stop);
    const tally = new Tally();
    using progress = showProgress(terminal, () => {
      const share = input.share();
      return `${share === undefined ? "" : `${Math.floor(share * 100)}%  `}${tally.progress()}`;
    });
    const error = await addAll(outcomes, tally, refusedFile);
    progress[Symbol.dispose]();
    const interrupted = stop.aborted;
    // The requests in flight after a failure.
    stopping.abort();
    const dryRun = target === undefined;
    const ending = interrupted ? `Interrupted after line ${tally.lastLine}.` : describeFailure(error);
    const again = interrupted || isPassing(error) ? "Run this again" : "Fix that and run this again";
    const failure = ending && !dryRun ? `${ending} ${again}; it resumes.` : ending;
    const succeeded = failure === undefined && tally.refused === 0;
    const source = describeSource(format, input.gzip, reader.separator);
    terminal.note(`Read ${file === "-" ? "standard input" : file} as ${source}.\n`);
    (succeeded ? terminal.note : terminal.err)(reportText(tally, { failure, refusedPath, dryRun }));
    const { created, replayed, refused, valid, seconds, listed: refusals } = tally;
    if (args.has("json"))
      printJson(terminal, { source, created, replayed, refused, valid, failure, refusals, seconds });
    if (interrupted) return interruptedCode(stop.reason);
    return succeeded ? 0 : 1;
  },
};

function readTarget(args: Arguments, { baseUrl, listen, tls }: Config): Target {
  const token = readSecret("accessToken", args.sources);
  if (token === undefined) {
    throw new ConfigProblem(
      "Set PLANT_STORE_ACCESS_TOKEN. To create a token: plant-store token create --name NAME",
    );
  }
  return {
    url:
      parseFlag(args, "url", parseBaseUrl)?.href ??
      publicUrl(baseUrl, { ...listen, secure: tls !== undefined }),
    token,
    attemptsMax: parseFlag(args, "attempts", (text) => parseCount(text, 1, attemptsLimit)) ?? attemptsDefault,
  };
}

/** Counts the outcomes and saves the refused rows, up to a failure, which it returns. */
async function addAll(
  outcomes: AsyncIterable<RowOutcome>,
  tally: Tally,
  refusedFile: RefusedFile | undefined,
): Promise<unknown> {
  try {
    try {
      for await (const outcome of outcomes) {
        if (outcome.kind === "failed") return outcome.error;
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

function describeFailure(error: unknown): string | undefined {
  if (error === undefined) return undefined;
  if (error instanceof ServiceRefused) {
    const isToken = error.status === 401 || error.status === 403;
    const advice = isToken ? " Set PLANT_STORE_ACCESS_TOKEN to a token that may create plants." : "";
    return `The import stopped. ${error.message} (${error.error})${advice}`;
  }
  const isExpected = [ServiceUnreachable, FileProblem, BrokenFile].some((type) => error instanceof type);
  if (!isExpected) throw error;
  return `The import stopped. ${messageOf(error)}`;
}

/** Whether nobody has to change anything before it can succeed. */
function isPassing(error: unknown): boolean {
  const status = error instanceof ServiceRefused ? error.status : undefined;
  return error instanceof ServiceUnreachable || status === 429 || (status !== undefined && status >= 500);
}
