import { realpathSync } from "node:fs";
import { ConfigProblem, readConfig, readSecret } from "../config/read-config.ts";
import { InvalidValue, parseBaseUrl, parseChoice, parseCount } from "../config/values.ts";
import { detectFormat, type FileFormat, fileFormats, readRows, rowReaderFor } from "../files/read-rows.ts";
import { publicUrl } from "../http/listen-address.ts";
import type { Command } from "./command.ts";
import { type Arguments, sources } from "./flags.ts";
import { type Input, openInput } from "./import/input.ts";
import { showProgress } from "./import/progress-bar.ts";
import { RefusedFile } from "./import/refused-file.ts";
import { reportJson, reportText } from "./import/report.ts";
import { checkRows, type Stopping, sendRows, type Target } from "./import/send-rows.ts";
import { Tally } from "./import/tally.ts";
import { Misuse, type Terminal } from "./terminal.ts";

const defaults = { concurrency: "256", attempts: "8" };
const concurrencyMax = 1000;
const attemptsMaxMax = 100;
const finishInFlightMs = 5000;

export const importPlants: Command = {
  usage: "import FILE|-",
  summary: "send the plants of a file; running it again resumes",
  examples: [
    "plant-store import plants.ndjson",
    "plant-store import plants.csv --dry-run",
    "plant-store import - --format json --url https://example.org/garden/v1 --refused refused.json < plants.json",
  ],
  flags: {
    url: { placeholder: "URL", help: "the service's base URL (from --base-url or --listen)" },
    format: {
      placeholder: "FORMAT",
      help: `${fileFormats.join(", ")} (detected from the name and the first bytes)`,
    },
    concurrency: { placeholder: "COUNT", help: `plants in flight at once (${defaults.concurrency})` },
    attempts: {
      placeholder: "COUNT",
      help: `attempts for each plant before giving up (${defaults.attempts})`,
    },
    "dry-run": { placeholder: undefined, help: "check every row here and send nothing" },
    refused: { placeholder: "FILE", help: "write refused rows there unchanged" },
    json: { placeholder: undefined, help: "print the report as JSON" },
  },
  settings: ["listen", "baseUrl", "bodyBytesMax"],

  async run(args, terminal) {
    const [file, ...more] = args.words;
    if (file === undefined || more.length > 0)
      throw new Misuse("import needs one FILE, or - for standard input");
    const chosen = flag(args, "format", "", (text) =>
      text === "" ? undefined : parseChoice(text, fileFormats),
    );
    const target = args.has("dry-run") ? undefined : readTarget(args, terminal);
    const { bodyBytesMax } = readConfig(sources(args, terminal));
    const refusedPath = args.value("refused");
    if (refusedPath !== undefined && isSameFile(refusedPath, file))
      throw new Misuse("--refused must name another file than the one that is imported");

    const stopping = listenForStop(terminal);
    using input = await openInput(file, terminal, stopping.whenAsked);
    const format = chosen ?? detectFormat(input.name, input.opening);
    const result = await importRows({ input, format, bodyBytesMax, target, refusedPath, terminal, stopping });
    stopping.forget();
    terminal.err(reportText(result.tally, result.failure, refusedPath));
    if (args.has("json")) terminal.out(reportJson(result.tally, result.failure));
    return result.failure === undefined && result.tally.refused === 0 ? 0 : 1;
  },
};

interface Import {
  readonly input: Input;
  readonly format: FileFormat;
  readonly bodyBytesMax: number;
  /** Undefined for a dry run. */
  readonly target: Target | undefined;
  readonly refusedPath: string | undefined;
  readonly terminal: Terminal;
  readonly stopping: Stopping;
}

async function importRows(options: Import): Promise<{ tally: Tally; failure: string | undefined }> {
  const { input, format, bodyBytesMax, target, refusedPath, terminal, stopping } = options;
  const reader = rowReaderFor(format, bodyBytesMax);
  using refusedFile =
    refusedPath === undefined ? undefined : new RefusedFile(refusedPath, format, () => reader.header);
  const tally = new Tally(target === undefined, refusedFile);
  using _ = showProgress(terminal, input, tally);
  const rows = readRows(input.chunks, reader);
  const failure = await (target === undefined
    ? checkRows(rows, tally, stopping)
    : sendRows(rows, target, tally, stopping));
  const notSaved = refusedFile?.finish();
  return { tally, failure: failure ?? notSaved };
}

function readTarget(args: Arguments, terminal: Terminal): Target {
  const around = sources(args, terminal);
  const { baseUrl, listen } = readConfig(around);
  const token = readSecret("accessToken", around);
  if (token === undefined) {
    throw new ConfigProblem(
      "PLANT_STORE_ACCESS_TOKEN is not set; import sends its token. plant-store token create --name NAME makes one.",
    );
  }
  return {
    url: flag(args, "url", "", parseBaseUrl)?.href ?? publicUrl(baseUrl, listen.host, listen.port),
    token,
    concurrency: flag(args, "concurrency", defaults.concurrency, (text) =>
      parseCount(text, 1, concurrencyMax),
    ),
    attemptsMax: flag(args, "attempts", defaults.attempts, (text) => parseCount(text, 1, attemptsMaxMax)),
  };
}

function listenForStop(terminal: Terminal): Stopping & { forget(): void } {
  const cutOff = new AbortController();
  let asked = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const whenAsked = terminal.stopSignal().then(() => {
    asked = true;
    timer = setTimeout(() => cutOff.abort(), finishInFlightMs);
  });
  return {
    get asked() {
      return asked;
    },
    whenAsked,
    cutOff: cutOff.signal,
    forget: () => clearTimeout(timer),
  };
}

function flag<Value>(
  args: Arguments,
  name: string,
  otherwise: string,
  parse: (text: string) => Value,
): Value {
  const text = args.value(name) ?? otherwise;
  try {
    return parse(text);
  } catch (error) {
    throw error instanceof InvalidValue ? new Misuse(`--${name} ${error.message}; it is "${text}"`) : error;
  }
}

function isSameFile(one: string, other: string): boolean {
  try {
    return realpathSync(one) === realpathSync(other);
  } catch {
    return false;
  }
}
