import { type Config, readConfig, readSecret } from "../config/read-config.ts";
import {
  ConfigProblem,
  parseBaseUrl,
  parseChoice,
  parseCount,
  parseDurationWithin,
} from "../config/values.ts";
import { describeSource } from "../files/detect-source.ts";
import { detectFormat, fileFormats, readRows, rowReaderFor } from "../files/read-rows.ts";
import { publicUrl } from "../http/listen-address.ts";
import { parseFlag } from "./arguments.ts";
import type { Arguments, Command } from "./command.ts";
import { openInput, type StopRequest } from "./import-input.ts";
import { progressLine, RefusedFile, reportJson, reportText, Tally } from "./import-report.ts";
import { attemptsToLast, checkRow, importRows, sendTo, type Target } from "./import-rows.ts";
import { isSameFile } from "./local-files.ts";
import { interruptedCode, printJson, showProgress, type Terminal, UsageError } from "./terminal.ts";

// As many idle connections as Bun keeps: beyond them, requests would open and close connections of their own.
const concurrencyDefault = 64;
const waitDefault = "10s";
const concurrencyLimit = 256;
const waitMsMax = 86_400_000;
// After this long, a stop aborts the requests in flight.
const finishInFlightMs = 5000;

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
    concurrency: { placeholder: "COUNT", help: `requests in flight (${concurrencyDefault})` },
    wait: {
      placeholder: "TIME",
      help: `minimum time to keep retrying while the service does not respond (${waitDefault})`,
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
    const inFlightMax =
      parseFlag(args, "concurrency", (text) => parseCount(text, 1, concurrencyLimit)) ?? concurrencyDefault;
    const refusedPath = args.value("refused");
    if (refusedPath !== undefined && isSameFile(refusedPath, file))
      throw new UsageError("--refused must not name the file that is imported");

    using stop = listenForStop(terminal);
    using input = await openInput(file, terminal, stop);
    const format = chosenFormat ?? detectFormat(file, input.opening);
    const reader = rowReaderFor(format, config.bodyBytesMax);
    using refusedFile = refusedPath === undefined ? undefined : new RefusedFile(refusedPath, format, reader);
    const tally = new Tally(target === undefined, refusedFile);
    using progress = showProgress(terminal, () => progressLine(input, tally));
    const create = target === undefined ? checkRow : sendTo(target, stop.aborting);
    const rows = readRows(input.chunks, reader);
    const failure = await importRows(rows, create, { inFlightMax, tally, stop });
    progress[Symbol.dispose]();
    const succeeded = failure === undefined && tally.refused === 0;
    const source = describeSource(format, input.gzip, reader.separator);
    terminal.note(`Read ${file === "-" ? "standard input" : file} as ${source}.\n`);
    (succeeded ? terminal.note : terminal.err)(reportText(tally, failure, refusedPath));
    if (args.has("json")) printJson(terminal, { ...reportJson(tally, failure), source });
    if (failure !== undefined && stop.requested.aborted) return interruptedCode(stop.requested.reason);
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
  const waitMs = parseFlag(args, "wait", parseWaitMs) ?? parseWaitMs(waitDefault);
  return {
    url:
      parseFlag(args, "url", parseBaseUrl)?.href ??
      publicUrl(baseUrl, { ...listen, secure: tls !== undefined }),
    token,
    attemptsMax: attemptsToLast(waitMs),
  };
}

function parseWaitMs(text: string): number {
  return parseDurationWithin(text, 0, waitMsMax, "of at most 1d, such as 1m");
}

function listenForStop(terminal: Terminal): StopRequest & Disposable {
  const [stop, abort] = [new AbortController(), new AbortController()];
  let timer: ReturnType<typeof setTimeout> | undefined;
  void terminal.stopSignal().then((signal) => {
    stop.abort(signal);
    timer = setTimeout(() => abort.abort(), finishInFlightMs);
  });
  return {
    requested: stop.signal,
    aborting: abort.signal,
    [Symbol.dispose]: () => clearTimeout(timer),
  };
}
