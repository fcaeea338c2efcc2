import { Database } from "bun:sqlite";
import {
  closeSync,
  copyFileSync,
  fstatSync,
  ftruncateSync,
  openSync,
  readFileSync,
  writeSync,
} from "node:fs";
import { commandLine, start, untilListening } from "../support/command.ts";
import { accessTokenEnvironment } from "../support/tokens.ts";
import { Clients } from "./rounds.ts";

/** Of the data file, or of its WAL. */
type Suffix = "" | "-wal";

export type Call =
  | { readonly kind: "write"; readonly file: Suffix; readonly at: number; readonly bytes: Buffer }
  | { readonly kind: "truncate"; readonly file: Suffix; readonly size: number }
  | {
      readonly kind: "sync-started" | "sync";
      readonly file: Suffix;
      readonly thread: string;
      readonly isBackground: boolean;
    }
  | { readonly kind: "answer"; readonly names: readonly string[] }
  /** A service was started. */
  | { readonly kind: "start" };

type Change = Extract<Call, { kind: "write" | "truncate" }>;

const clients = 24;
const sectorBytes = 512;
const traced = "trace=pwrite64,ftruncate,fsync,fdatasync,sendto";

/**
 * What is broken in a control: fsyncs of the WAL, all or those in the background, are reported before they are done; or a start
 * after a crash skips its fsyncs, up to its first response.
 */
export type Breakage = "early fsyncs" | "early background fsyncs" | "no fsync at the start";

export interface PowerLosses {
  readonly cuts: number;
  readonly breakage?: Breakage | undefined;
  readonly random: () => number;
}

/**
 * For points in time that are spread over the recording, writes to that path what a power loss could have left: everything that
 * was fsynced, alternately without all other sectors and with a random half of them. Says what had been acknowledged by then.
 */
export function* disksAfter(
  calls: readonly Call[],
  path: string,
  { cuts, breakage, random }: PowerLosses,
): Iterable<{ readonly at: number; readonly acknowledged: readonly string[] }> {
  const answers = calls.flatMap((call, index) => (call.kind === "answer" ? [index] : []));
  const cutAt = new Set(
    Array.from(
      { length: cuts },
      (_, index) => answers[Math.floor((answers.length * (index + 1)) / cuts) - 1],
    ),
  );
  using file = new SimulatedFile(path, () => false);
  using wal = new SimulatedFile(
    `${path}-wal`,
    (isBackground) => breakage === "early fsyncs" || (breakage === "early background fsyncs" && isBackground),
  );
  const acknowledged: string[] = [];
  let cut = 0;
  let starts = 0;
  let isStarting = false;
  for (const [at, call] of calls.entries()) {
    if (call.kind === "answer") {
      isStarting = false;
      acknowledged.push(...call.names);
    } else if (call.kind === "start") {
      isStarting = starts > 0;
      starts++;
    } else {
      const isSync = call.kind === "sync" || call.kind === "sync-started";
      const isSkipped = breakage === "no fsync at the start" && isStarting && isSync;
      if (!isSkipped) (call.file === "" ? file : wal).take(call);
    }
    if (!cutAt.has(at)) continue;
    cut++;
    const arrives = cut % 2 === 1 ? () => false : () => random() < 0.5;
    for (const one of [file, wal]) one.cut(arrives);
    yield { at, acknowledged };
  }
}

/** A file: its durable content, which is in another one, and what was written since. */
class SimulatedFile implements Disposable {
  readonly #path: string;
  readonly #durable: number;
  readonly #isEarly: (isBackground: boolean) => boolean;
  #pending: Change[] = [];
  /** For each thread in a sync, how many pending writes it covers: those before the sync started. */
  readonly #covered = new Map<string, number>();
  #reported = 0;

  /** `isEarly`: whether such an fsync is reported before it is done. */
  constructor(path: string, isEarly: (isBackground: boolean) => boolean) {
    this.#path = path;
    this.#durable = openSync(`${path}.durable`, "w");
    this.#isEarly = isEarly;
  }

  take(call: Exclude<Call, { kind: "answer" | "start" }>): void {
    if (call.kind === "write" || call.kind === "truncate") this.#pending.push(call);
    else if (call.kind === "sync-started") this.#covered.set(call.thread, this.#pending.length);
    else this.#synced(this.#covered.get(call.thread) ?? 0, this.#isEarly(call.isBackground));
  }

  #synced(covered: number, isEarly: boolean): void {
    // One that is reported early has done what was reported the last time.
    const count = isEarly ? Math.min(this.#reported, covered) : covered;
    for (const pending of this.#pending.splice(0, count)) apply(this.#durable, pending, () => true);
    this.#reported = covered - count;
    for (const [thread, other] of this.#covered) this.#covered.set(thread, Math.max(0, other - count));
  }

  cut(arrives: () => boolean): void {
    copyFileSync(`${this.#path}.durable`, this.#path);
    const file = openSync(this.#path, "r+");
    for (const pending of this.#pending) apply(file, pending, arrives);
    closeSync(file);
  }

  [Symbol.dispose](): void {
    closeSync(this.#durable);
  }
}

/** Each sector of a write arrives or not. */
function apply(file: number, call: Change, arrives: () => boolean): void {
  if (call.kind === "truncate") {
    if (arrives()) ftruncateSync(file, call.size);
    return;
  }
  const { at, bytes } = call;
  // What is missing is read as zeros.
  if (at + bytes.length > fstatSync(file).size) ftruncateSync(file, at + bytes.length);
  for (let start = 0; start < bytes.length; ) {
    const length = Math.min(bytes.length - start, sectorBytes - ((at + start) % sectorBytes));
    if (arrives()) writeSync(file, bytes, start, length, at + start);
    start += length;
  }
}

export interface Recording {
  /** For the services, such as for slower fsyncs. */
  readonly environment: Readonly<Record<string, string>>;
  /** Whether a reader keeps the second service from a checkpoint at its start. */
  readonly hasReader: boolean;
  readonly plants: number;
}

/**
 * Every write, fsync and response of two services, one after the other: the first is killed under load; the second starts, and
 * gets every plant again that had no response.
 */
export async function recordCalls(
  database: string,
  { environment, hasReader, plants }: Recording,
): Promise<Call[]> {
  let url: string | undefined;
  await using load = new Clients(clients, () => url);
  const record = async (until: number): Promise<Call[]> => {
    const log = `${database}.calls-${until}`;
    const strace = ["-f", "-y", "-xx", "-s", "1000000", "-e", traced, "-o", log];
    const [command, args] = commandLine(["serve", "--database", database]);
    await using service = await untilListening(
      start("strace", [...strace, command, ...args], {
        environment: {
          ...environment,
          ...accessTokenEnvironment,
          PLANT_STORE_OPERATOR_LISTEN: "off",
        },
        ownGroup: true,
      }),
    );
    url = service.url;
    while (load.acknowledged < until) await load.acknowledgedAgain();
    // The one child of strace.
    const { pid } = service.child;
    const servicePid = Number(readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8"));
    process.kill(servicePid, "SIGKILL");
    await service.ended;
    url = undefined;
    const calls = readFileSync(log, "latin1")
      .split("\n")
      .flatMap(callReader(database, String(servicePid)));
    return [{ kind: "start" }, ...calls];
  };
  const first = await record(plants / 2);
  using reader = hasReader ? new Database(database, { readonly: true }) : undefined;
  reader?.run("BEGIN");
  reader?.query("SELECT count(*) FROM plants").get();
  return [...first, ...(await record(plants))];
}

/** Joins the calls that strace split because another thread interrupted them. */
function callReader(database: string, mainThread: string): (line: string) => Call[] {
  const parse = (line: string, thread: string) => parseCall(line, database, thread, thread !== mainThread);
  const unfinishedCalls = new Map<string, string>();
  return (line) => {
    const [, thread = "", text = ""] = /^(\d+) +(.*)$/.exec(line) ?? [];
    const unfinished = /^(.*) <unfinished \.\.\.>$/.exec(text)?.[1];
    if (unfinished !== undefined) {
      unfinishedCalls.set(thread, unfinished);
      return parse(`${unfinished}) = 0`, thread).filter(({ kind }) => kind === "sync-started");
    }
    const rest = /^<\.\.\. \w+ resumed>(.*)$/.exec(text)?.[1];
    if (rest === undefined) return parse(text, thread);
    return parse((unfinishedCalls.get(thread) ?? "") + rest, thread).filter(
      ({ kind }) => kind !== "sync-started",
    );
  };
}

function parseCall(line: string, database: string, thread: string, isBackground: boolean): Call[] {
  const call = /^(\w+)\(\d+<([^>]*)>(?:, (.*))?\) += (\d+)/.exec(line);
  if (call === null) return [];
  const [, name, path = "", rest = ""] = call;
  if (name === "sendto") {
    const text = unescaped(/^"([^"]*)"/.exec(rest)?.[1] ?? "").toString();
    const names = text.startsWith("HTTP/1.1 200")
      ? Array.from(text.matchAll(/"name":"([^"]*)"/g), ([, name = ""]) => name)
      : [];
    return names.length > 0 ? [{ kind: "answer", names }] : [];
  }
  const file = (["", "-wal"] as const).find((suffix) => database + suffix === unescaped(path).toString());
  if (file === undefined) return [];
  if (name === "fsync" || name === "fdatasync")
    return [
      { kind: "sync-started", file, thread, isBackground },
      { kind: "sync", file, thread, isBackground },
    ];
  if (name === "ftruncate") return [{ kind: "truncate", file, size: Number(rest) }];
  const write = /^"([^"]*)", \d+, (\d+)$/.exec(rest);
  return write === null
    ? []
    : [{ kind: "write", file, at: Number(write[2]), bytes: unescaped(write[1] ?? "") }];
}

function unescaped(text: string): Buffer {
  return text.includes("\\x") ? Buffer.from(text.replaceAll("\\x", ""), "hex") : Buffer.from(text);
}
