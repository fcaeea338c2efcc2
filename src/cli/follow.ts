import {
  type FollowedPage,
  type FollowedPlant,
  PlantStoreClient,
  RequestAborted,
  ServiceRefused,
  ServiceUnreachable,
} from "../client/plant-store-client.ts";
import { readAccessToken, readConfig } from "../config/read-config.ts";
import { parseBaseUrl } from "../config/setting-parsers.ts";
import { reachableUrl } from "../http/listen-address.ts";
import { misuse, Problem } from "../system/problem.ts";
import { hourMs } from "../text/duration.ts";
import { formatJson } from "../text/json-text.ts";
import { durationFrom } from "../text/parsers.ts";
import { isoTime } from "../text/time.ts";
import { readFlag, UsageError } from "./arguments.ts";
import type { Arguments, Command } from "./command.ts";
import { FollowedFile } from "./followed-file.ts";
import { filterFlags, readFilterFlags } from "./plant-filter.ts";
import { showProgress } from "./progress.ts";
import { attemptsFlag, readAttempts, retries } from "./retries.ts";
import { abortOnStopSignal, escapeInvisible, interruptedCode, type Terminal } from "./terminal.ts";

const beginning = "0";
const staleCursor = 41001;

export const follow: Command = {
  usage: "follow",
  summary: "print every plant once, also those that are stored from now on",
  examples: [
    "plant-store follow --output plants.ndjson",
    "plant-store follow --after now --tag indoor",
    "plant-store follow --once > plants.ndjson",
  ],
  flags: {
    url: { placeholder: "URL", help: "the URL of the operator listener (from --operator-listen)" },
    output: { placeholder: "FILE", help: "append to this file, and go on from its last plant" },
    after: { placeholder: "CURSOR", help: "begin after this cursor, or now (the first plant)" },
    once: { help: "stop once everything is there that was stored before the start" },
    every: { placeholder: "TIME", help: "how long to wait for new plants, such as 10s (1s)" },
    attempts: attemptsFlag,
    ...filterFlags,
  },
  settings: ["operatorListen"],
  secrets: { accessToken: "a token with the scope plants:read" },

  async run(args, terminal) {
    const { client, baseUrl, filter, everyMs } = readTarget(args);
    const path = args.value("output");
    using file = path === undefined ? undefined : new FollowedFile(path);
    if (args.has("after") && file?.cursor !== undefined)
      throw new UsageError("--after is not for a FILE that has plants: it goes on from its last one");
    const after = file?.cursor ?? args.value("after") ?? beginning;
    const stop = abortOnStopSignal(terminal);
    const pages = client.followPlants({ after, filter, everyMs, signal: stop });
    let followed = 0;
    const progress = () =>
      ({ what: `Following ${baseUrl}`, done: followed, unit: "plants", share: undefined }) as const;
    // If the plants go to the terminal, the progress would be drawn between them.
    using _line = file === undefined && terminal.outIsTerminal ? undefined : showProgress(terminal, progress);
    try {
      for await (const page of reportingWaits(args.has("once") ? untilComplete(pages) : pages, terminal)) {
        const lines = page.plants.map(lineOf).join("");
        if (lines === "") continue;
        followed += page.plants.length;
        if (file !== undefined) file.append(lines);
        else if (!(await terminal.outWithBackpressure(lines))) break;
      }
      return 0;
    } catch (error) {
      if (error instanceof RequestAborted) return interruptedCode(stop.reason);
      throw asProblem(error, path);
    }
  },
};

function readTarget(args: Arguments) {
  const config = readConfig(args.sources);
  const token = readAccessToken(args.sources);
  if (token === undefined)
    throw misuse(
      "Set PLANT_STORE_ACCESS_TOKEN. To create a token, on the machine of the service: plant-store token create --name NAME --scope plants:read",
    );
  const listen = config.operatorListen;
  const configured = listen && reachableUrl(undefined, { ...listen, isSecure: config.tls !== undefined });
  const baseUrl = readFlag(args, "url", parseBaseUrl)?.href ?? configured;
  if (baseUrl === undefined) throw new UsageError("--url is needed, since --operator-listen is off");
  const { tag, namePart, createdBy, sinceMs, untilMs } = readFilterFlags(args);
  return {
    baseUrl,
    client: new PlantStoreClient({ baseUrl, token, attemptsMax: readAttempts(args), ...retries }),
    filter: { tag, name: namePart, token: createdBy, since: isoTime(sinceMs), until: isoTime(untilMs) },
    everyMs: readFlag(args, "every", durationFrom(1, hourMs, "from 1ms to 1h, such as 10s")),
  };
}

/** The pages up to the one by which everything is there that was stored before the first. */
async function* untilComplete(pages: AsyncIterable<FollowedPage>): AsyncGenerator<FollowedPage, void, void> {
  let startedAt: string | undefined;
  for await (const page of pages) {
    yield page;
    startedAt ??= page.now;
    if (!page.more && Date.parse(page.completeTo ?? "") >= Date.parse(startedAt)) return;
  }
}

/** The pages; says once since when plants wait for a transaction on the database server. */
async function* reportingWaits(
  pages: AsyncIterable<FollowedPage>,
  terminal: Terminal,
): AsyncGenerator<FollowedPage, void, void> {
  let isReported = false;
  for await (const page of pages) {
    const { waitingSince } = page;
    if (waitingSince !== undefined && !isReported)
      terminal.note(
        `Newer plants wait for a transaction on the database server, since ${escapeInvisible(waitingSince)}. docs/operating.md says how to find it.\n`,
      );
    isReported = waitingSince !== undefined;
    yield page;
  }
}

/** A line as `export --format ndjson` writes it, with the cursor last. */
function lineOf({ id, name, tag, createdAt, createdBy, cursor }: FollowedPlant): string {
  const rest = formatJson({ name, tag, createdAt, createdBy, cursor });
  return `{"id":${BigInt(id)},${rest.slice(1)}\n`;
}

/** What to do after a failure that nobody can retry. */
function asProblem(error: unknown, path: string | undefined): unknown {
  if (error instanceof ServiceUnreachable) return new Problem(`${error.message} Run this again; it resumes.`);
  if (!(error instanceof ServiceRefused)) return error;
  const said = `${error.message} (${error.error})`;
  if (error.error === staleCursor && path !== undefined)
    return new Problem(
      `${path} has plants of another store, or of this one before it was restored. Compare it with the store, then follow into a new file.`,
    );
  const isToken = error.status === 401 || error.status === 403;
  return new Problem(
    isToken ? `${said} Set PLANT_STORE_ACCESS_TOKEN to a token with the scope plants:read.` : said,
  );
}
