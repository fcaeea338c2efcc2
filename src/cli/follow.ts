import { existsSync, statSync } from "node:fs";
import { readConfig, readSecret } from "../config/read-config.ts";
import { type SecretName, secrets } from "../config/secrets.ts";
import { ConfigProblem, parseBaseUrl } from "../config/values.ts";
import { isDatabaseUrl } from "../storage/postgres/database-url.ts";
import { parseFlag, wrongUsage } from "./arguments.ts";
import type { Arguments, Command } from "./command.ts";
import { changesFrom } from "./follow/change-source.ts";
import { CursorFile } from "./follow/cursor-file.ts";
import { type FollowCounts, FollowTally, type FollowTarget } from "./follow/follow-target.ts";
import { readAhead } from "./follow/read-ahead.ts";
import { Retry, Stopped } from "./follow/retry.ts";
import { SegmentFolder } from "./follow/segment-folder.ts";
import { databaseSink, StoreTarget, serviceSink } from "./follow/store-target.ts";
import { formatCount, formatPlants, plural, secondsSince, showProgress } from "./progress-line.ts";
import { escapeInvisible, printJson, UsageError } from "./terminal.ts";

// About ten seconds, which is enough for a restart of the other side.
const onceAttemptsMax = 10;
const readAheadMax = 5000;

export const follow: Command = {
  usage: "follow --from URL --to TARGET",
  summary: "copy the plants of a running service elsewhere, as they are stored",
  examples: [
    "plant-store follow --from http://127.0.0.1:3001 --to copies/",
    "plant-store follow --from http://127.0.0.1:3001 --to https://second.example.org --cursor second.cursor",
    "plant-store follow --from http://127.0.0.1:3001 --to copy.db --once",
  ],
  flags: {
    from: { placeholder: "URL", help: "the operator listener of the service, on SQLite (required)" },
    to: {
      placeholder: "TARGET",
      help: "the base URL of another service, a folder (it exists, or ends with /), a data file or postgres://… (required)",
    },
    cursor: {
      placeholder: "FILE",
      help: "where the position is stored; needed for a URL, by default next to a data file",
    },
    once: { help: "end when every stored plant is copied" },
    json: { help: "print the counts as JSON at the end" },
  },
  settings: ["allowUnsafeDatabase"],
  secrets: {
    operatorToken: "the token for --from, with the scope operator:read (required)",
    accessToken: "the token for a service in --to, with the scope plants:create",
  },

  async run(args, terminal) {
    const from = parseFlag(args, "from", parseBaseUrl);
    const to = args.value("to");
    if (from === undefined || to === undefined || to === "") throw wrongUsage(follow);
    const token = requireToken("operatorToken", "--from", "operator:read", args);
    const once = args.has("once");
    const stop = new AbortController();
    void terminal.stopSignal().then(() => stop.abort());
    const report = (line: string) => terminal.err(`${escapeInvisible(line)}\n`);
    const attemptsMax = once ? onceAttemptsMax : Number.POSITIVE_INFINITY;
    const retry = new Retry({ attemptsMax, stop: stop.signal, report });
    const tally = new FollowTally(report);
    const described = describeTarget(to);
    await using target = await openTarget(to, { args, tally, retry, report });
    terminal.note(`${escapeInvisible(`Copying plants to ${described}.`)}\n`);
    const startMs = performance.now();
    let newest = "";
    let complete = true;
    using line = showProgress(
      terminal,
      () => `${summary(tally.counts)}${newest}  ${secondsSince(startMs)} s`,
    );
    try {
      const { staleRemedy } = target;
      const source = { url: from, token, once, retry, staleRemedy };
      const changesAfter = changesFrom(source, await target.resume());
      for await (const changes of readAhead(changesAfter, readAheadMax)) {
        await target.store(changes);
        const last = changes.at(-1);
        if (last !== undefined) newest = `, up to ${new Date(last.plant.createdAtMs).toISOString()}`;
      }
    } catch (error) {
      if (!(error instanceof Stopped)) throw error;
      complete = !once;
    } finally {
      stop.abort();
    }
    await target.finish();
    line[Symbol.dispose]();
    const { conflicts, refused } = tally.counts;
    const allCopied = complete && conflicts + refused === 0;
    const ending = complete ? "" : "; stopped before the last plant";
    (allCopied ? terminal.note : terminal.err)(`${summary(tally.counts)}${ending}.\n`);
    if (args.has("json")) printJson(terminal, tally.counts);
    return allCopied || (complete && !once) ? 0 : 1;
  },
};

interface TargetParts {
  readonly args: Arguments;
  readonly tally: FollowTally;
  readonly retry: Retry;
  readonly report: (line: string) => void;
}

async function openTarget(to: string, { args, ...parts }: TargetParts): Promise<FollowTarget> {
  const cursorPath = args.value("cursor");
  const cursorFile = () => {
    if (cursorPath === undefined) throw new UsageError("--to needs --cursor FILE here, to resume from");
    return new CursorFile(cursorPath);
  };
  if (/^https?:/i.test(to)) {
    const url = parseFlag(args, "to", parseBaseUrl);
    if (url === undefined) throw wrongUsage(follow);
    const token = requireToken("accessToken", "--to", "plants:create", args);
    return new StoreTarget({ ...parts, cursorFile: cursorFile(), sink: serviceSink(url, token) });
  }
  if (isFolder(to)) {
    if (cursorPath !== undefined) throw new UsageError("--cursor is not for a folder, which has its own");
    return new SegmentFolder(to, parts.tally);
  }
  const file = isDatabaseUrl(to) || cursorPath !== undefined ? cursorFile() : new CursorFile(`${to}.cursor`);
  const { sources } = args;
  const setting = readConfig({ ...sources, flags: { ...sources.flags, database: to } });
  return new StoreTarget({ ...parts, cursorFile: file, sink: await databaseSink(setting) });
}

function isFolder(to: string): boolean {
  if (isDatabaseUrl(to)) return false;
  return /[/\\]$/.test(to) || statSync(to, { throwIfNoEntry: false })?.isDirectory() === true;
}

function describeTarget(to: string): string {
  if (/^https?:/i.test(to)) return `the service ${to}`;
  // Without its URL, which may contain a password.
  if (isDatabaseUrl(to)) return "PostgreSQL";
  if (isFolder(to)) return `segments in the folder ${to}`;
  return existsSync(to) ? `the data file ${to}` : `the new data file ${to}; a folder would end with a slash`;
}

function requireToken(name: SecretName, flag: string, scope: string, args: Arguments): string {
  const secret = readSecret(name, args.sources);
  if (secret === undefined)
    throw new ConfigProblem(
      `${secrets[name].environment} is not set. ${flag} needs a token with the scope ${scope}; plant-store token create --name NAME --scope ${scope} creates one.`,
    );
  return secret;
}

function summary({ created, replayed, conflicts, refused }: FollowCounts): string {
  const refusedText = refused === 0 ? "" : `, ${formatCount(refused)} refused`;
  return `${formatPlants(created)} copied, ${formatCount(replayed)} already there, ${plural(conflicts, "conflict", "conflicts")}${refusedText}`;
}
