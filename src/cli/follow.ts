import {
  type FollowedPage,
  type FollowedPlant,
  type FollowFilter,
  ServiceRefused,
} from "../client/plant-store-client.ts";
import { readConfig } from "../config/read-config.ts";
import { secrets, settings } from "../config/settings.ts";
import { catalogue } from "../http/error-catalogue.ts";
import { beginningCursor, type PlantFilter } from "../plants/plant-archive.ts";
import { misuse, Problem } from "../system/problem.ts";
import { formatPlural } from "../text/counts.ts";
import { hourMs } from "../text/duration.ts";
import { formatJson } from "../text/json-text.ts";
import { durationFrom } from "../text/parsers.ts";
import { isoTime } from "../text/time.ts";
import { command, defaultingTo, flag, switchFlag } from "./command.ts";
import { FollowedFile } from "./followed-file.ts";
import { filterFlags, filterOf } from "./plant-filter.ts";
import { resumes, showProgress } from "./progress.ts";
import { attemptsFlag, describeServiceError, listenerUrl, patientClient, urlFlag } from "./remote-service.ts";

const scope = "plants:read";

export const follow = command({
  summary: "print every plant once, also those that are stored from now on",
  examples: [
    "plant-store follow --output plants.ndjson",
    "plant-store follow --after now --tag indoor",
    "plant-store follow --once > plants.ndjson",
  ],
  flags: {
    url: urlFlag("the URL of the operator listener (from --operator-listen)"),
    output: flag("FILE", "append to this file, and go on from its last plant", String),
    after: flag("CURSOR", "begin after this cursor, or now (the first plant)", String),
    once: switchFlag("stop once everything is there that was stored before the start"),
    every: defaultingTo(
      "1s",
      flag(
        "TIME",
        "how long to wait for new plants, such as 10s",
        durationFrom(1, hourMs, "from 1ms to 1h, such as 10s"),
      ),
    ),
    attempts: attemptsFlag,
    ...filterFlags,
  },
  settings: [settings.operatorListen],
  secrets: [{ ...secrets.accessToken, meaning: "a token with the scope plants:read" }],

  async run({ flags, sources }, terminal) {
    const { url, output: path, once, every: everyMs, attempts: attemptsMax, ...filters } = flags;
    const config = readConfig(sources);
    const baseUrl = url?.href ?? (config.operatorListen && listenerUrl(config.operatorListen, config));
    if (baseUrl === undefined) throw misuse("--url is needed, since --operator-listen is off.");
    const client = patientClient({ baseUrl, attemptsMax, scope }, sources, terminal);

    using file = path === undefined ? undefined : new FollowedFile(path);
    if (flags.after !== undefined && file?.cursor !== undefined)
      throw misuse("--after is not for a FILE that has plants: it goes on from its last one.");
    const after = file?.cursor ?? flags.after ?? beginningCursor;
    const pages = client.followPlants({ after, filter: sentFilter(filterOf(filters)), everyMs });
    let followed = 0;
    const progress = () =>
      ({ what: `following ${baseUrl}`, share: undefined, outcome: formatPlural(followed, "plant") }) as const;
    using _line = showProgress(terminal, progress, {
      next: nextText(path),
      printsRows: file === undefined,
    });
    let startedAt: string | undefined;
    let isWaiting = false;
    try {
      for await (const page of pages) {
        const { plants, waitingSince } = page;
        if (waitingSince !== undefined && !isWaiting) terminal.note(waitText(waitingSince));
        isWaiting = waitingSince !== undefined;
        const lines = plants.map(lineOf).join("");
        followed += plants.length;
        if (file !== undefined) file.append(lines);
        else if (!(await terminal.outWithBackpressure(lines))) break;
        startedAt ??= page.now;
        if (once && isCompleteTo(startedAt, page)) break;
      }
      if (terminal.errIsTerminal) terminal.note(`Followed ${progress().outcome}.\n`);
      return true;
    } catch (error) {
      throw asProblem(error, path);
    }
  },
});

function sentFilter({ tag, namePart, createdBy, sinceMs, untilMs }: PlantFilter): FollowFilter {
  return { tag, name: namePart, token: createdBy, since: isoTime(sinceMs), until: isoTime(untilMs) };
}

/** Whether everything is there that was stored before this time. */
function isCompleteTo(time: string, { more, completeTo = "" }: FollowedPage): boolean {
  return !more && Date.parse(completeTo) >= Date.parse(time);
}

function waitText(since: string): string {
  return `Newer plants wait for a transaction on the database server, since ${since}. docs/operating.md says how to find it.\n`;
}

/** A line as `export --format ndjson` writes it, with the cursor last. */
function lineOf({ id, name, tag, createdAt, createdBy, cursor }: FollowedPlant): string {
  const rest = formatJson({ name, tag, createdAt, createdBy, cursor });
  return `{"id":${BigInt(id)},${rest.slice(1)}\n`;
}

function nextText(path: string | undefined): string {
  return path === undefined ? "To go on, name the last cursor by --after." : resumes;
}

/** What to do after a failure that nobody can retry. */
function asProblem(error: unknown, path: string | undefined): unknown {
  if (error instanceof ServiceRefused && error.error === catalogue["stale-cursor"].error)
    return new Problem(
      path === undefined
        ? `${error.message} Compare what you have with the store, then begin with --after 0.`
        : `The last line of ${path} is no plant of this store. The file is of another store, or of this one before it was restored, or that plant was removed. Compare it with an export, then follow into a new file.`,
    );
  const sentence = describeServiceError(error, scope);
  if (sentence === undefined) return error;
  return new Problem(
    `${sentence} ${error instanceof ServiceRefused ? "Fix that first. " : ""}${nextText(path)}`,
  );
}
