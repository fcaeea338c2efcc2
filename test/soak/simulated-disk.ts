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
import { commandLine, start, untilListening } from "../command.ts";
import { accessToken } from "../harness.ts";
import { Clients } from "./rounds.ts";

/** Of the data file, or of its WAL. */
type Suffix = "" | "-wal";

export type Call =
  | { readonly kind: "write"; readonly file: Suffix; readonly at: number; readonly bytes: Buffer }
  | { readonly kind: "truncate"; readonly file: Suffix; readonly size: number }
  | { readonly kind: "sync-started" | "sync"; readonly file: Suffix; readonly thread: string }
  | { readonly kind: "answer"; readonly names: readonly string[] };

type Change = Extract<Call, { kind: "write" | "truncate" }>;

// Enough for the WAL to be checkpointed meanwhile, by the checkpoint thread.
const plants = 12_000;
const clients = 24;
const sectorBytes = 512;
const traced = "trace=pwrite64,ftruncate,fsync,fdatasync,sendto";

/**
 * For points in time that are spread over the recording, writes to that path what a power loss could have left: everything that was
 * fsynced, alternately without all other sectors and with a random half of them. Says what had been acknowledged by then. A disk that
 * lies reports an fsync of the WAL before it is done.
 */
export function* disksAfter(
  calls: readonly Call[],
  path: string,
  { cuts, isLying, random }: { cuts: number; isLying: boolean; random: () => number },
): Iterable<{ readonly at: number; readonly acknowledged: readonly string[] }> {
  const answers = calls.flatMap((call, index) => (call.kind === "answer" ? [index] : []));
  const cutAt = new Set(
    Array.from(
      { length: cuts },
      (_, index) => answers[Math.floor((answers.length * (index + 1)) / cuts) - 1],
    ),
  );
  using file = new SimulatedFile(path, false);
  using wal = new SimulatedFile(`${path}-wal`, isLying);
  const acknowledged: string[] = [];
  let cut = 0;
  for (const [at, call] of calls.entries()) {
    if (call.kind === "answer") acknowledged.push(...call.names);
    else (call.file === "" ? file : wal).take(call);
    if (!cutAt.has(at)) continue;
    const arrives = cut++ % 2 === 0 ? () => false : () => random() < 0.5;
    for (const one of [file, wal]) one.cut(arrives);
    yield { at, acknowledged };
  }
}

/** A file: its durable content, which is in another one, and what was written since. */
class SimulatedFile implements Disposable {
  readonly #path: string;
  readonly #durable: number;
  readonly #isLying: boolean;
  #pending: Change[] = [];
  /** For each thread in a sync, how many pending writes it covers: those before the sync started. */
  readonly #covered = new Map<string, number>();
  #reported = 0;

  constructor(path: string, isLying: boolean) {
    this.#path = path;
    this.#durable = openSync(`${path}.durable`, "w");
    this.#isLying = isLying;
  }

  take(call: Exclude<Call, { kind: "answer" }>): void {
    if (call.kind === "write" || call.kind === "truncate") this.#pending.push(call);
    else if (call.kind === "sync-started") this.#covered.set(call.thread, this.#pending.length);
    else this.#synced(this.#covered.get(call.thread) ?? 0);
  }

  #synced(covered: number): void {
    // A disk that lies has done what it reported the last time.
    const count = this.#isLying ? Math.min(this.#reported, covered) : covered;
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

/**
 * Every write, fsync and response of two services, one after the other: the first is killed under load; the second starts while a
 * reader prevents a checkpoint, and gets every plant again that had no response.
 */
export async function recordCalls(database: string): Promise<Call[]> {
  let url: string | undefined;
  await using load = new Clients(clients, () => url);
  const record = async (until: number): Promise<Call[]> => {
    const log = `${database}.calls-${until}`;
    const strace = ["-f", "-y", "-xx", "-s", "1000000", "-e", traced, "-o", log];
    const [command, args] = commandLine(["serve", "--database", database]);
    const { child, ...service } = await untilListening(
      start("strace", [...strace, command, ...args], {
        environment: { PLANT_STORE_ACCESS_TOKEN: accessToken, PLANT_STORE_OPERATOR_LISTEN: "off" },
      }),
    );
    url = service.url;
    while (load.acknowledged < until) await load.acknowledgedAgain();
    // The one child of strace.
    process.kill(Number(readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, "utf8")), "SIGKILL");
    await service.ended();
    url = undefined;
    return readFileSync(log, "latin1").split("\n").flatMap(callReader(database));
  };
  const first = await record(plants / 2);
  using reader = new Database(database, { readonly: true });
  reader.run("BEGIN");
  reader.query("SELECT count(*) FROM plants").get();
  return [...first, ...(await record(plants))];
}

/** Joins the calls that strace split because another thread interrupted them. */
function callReader(database: string): (line: string) => Call[] {
  const unfinishedCalls = new Map<string, string>();
  return (line) => {
    const [, thread = "", text = ""] = /^(\d+) +(.*)$/.exec(line) ?? [];
    const unfinished = /^(.*) <unfinished \.\.\.>$/.exec(text)?.[1];
    if (unfinished !== undefined) {
      unfinishedCalls.set(thread, unfinished);
      return parse(`${unfinished}) = 0`, database, thread).filter(({ kind }) => kind === "sync-started");
    }
    const rest = /^<\.\.\. \w+ resumed>(.*)$/.exec(text)?.[1];
    if (rest === undefined) return parse(text, database, thread);
    return parse((unfinishedCalls.get(thread) ?? "") + rest, database, thread).filter(
      ({ kind }) => kind !== "sync-started",
    );
  };
}

function parse(line: string, database: string, thread: string): Call[] {
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
      { kind: "sync-started", file, thread },
      { kind: "sync", file, thread },
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
