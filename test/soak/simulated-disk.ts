import { Database } from "bun:sqlite";
import { spawn } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { accessToken, eventually } from "../harness.ts";

export type Call =
  | { readonly kind: "write"; readonly file: string; readonly at: number; readonly bytes: Buffer }
  | { readonly kind: "truncate"; readonly file: string; readonly size: number }
  | { readonly kind: "sync-started" | "sync"; readonly file: string; readonly thread: string }
  | { readonly kind: "answer"; readonly names: readonly string[] };

type Change = Extract<Call, { kind: "write" | "truncate" }>;

/** What a power loss could have left, and what had been acknowledged by then. */
export interface Left {
  /** The index of the last call before it. */
  readonly at: number;
  readonly acknowledged: readonly string[];
  writeTo(path: string): void;
}

export interface Cuts {
  readonly cuts: number;
  /** Whether the disk reports an fsync of the WAL before it is done. */
  readonly isLying: boolean;
  readonly random: () => number;
}

// Enough for the WAL to be checkpointed meanwhile, by the checkpoint thread.
const plants = 12_000;
const clients = 24;
const sectorBytes = 512;

/**
 * For points in time that are spread over the recording: everything that was fsynced, alternately without all other sectors and with
 * a random half of them.
 */
export function* disksAfter(calls: readonly Call[], { cuts, isLying, random }: Cuts): Iterable<Left> {
  const answers = calls.flatMap((call, index) => (call.kind === "answer" ? [index] : []));
  const cutAt = new Set(
    Array.from(
      { length: cuts },
      (_, index) => answers[Math.floor((answers.length * (index + 1)) / cuts) - 1],
    ),
  );
  const disks = new Map<string, Disk>();
  const acknowledged: string[] = [];
  for (const [at, call] of calls.entries()) {
    if (call.kind === "answer") acknowledged.push(...call.names);
    else {
      if (!disks.has(call.file)) disks.set(call.file, new Disk(isLying && call.file.endsWith("-wal")));
      disks.get(call.file)?.take(call);
    }
    if (!cutAt.has(at)) continue;
    const arrives = [...cutAt].indexOf(at) % 2 === 0 ? () => false : () => random() < 0.5;
    const writeTo = (path: string): void => {
      for (const [file, disk] of disks)
        writeFileSync(file.endsWith("-wal") ? `${path}-wal` : path, disk.afterCut(arrives));
    };
    yield { at, acknowledged, writeTo };
  }
}

/** One file: its durable content, and what was written since. */
class Disk {
  readonly #isLying: boolean;
  readonly #durable = new Content();
  #pending: Change[] = [];
  /** For each thread in a sync, how many pending writes it covers: those before the sync started. */
  readonly #covered = new Map<string, number>();
  #reported = 0;

  constructor(isLying: boolean) {
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
    for (const pending of this.#pending.splice(0, count)) this.#durable.apply(pending, () => true);
    this.#reported = covered - count;
    for (const [thread, other] of this.#covered) this.#covered.set(thread, Math.max(0, other - count));
  }

  afterCut(arrives: () => boolean): Buffer {
    const left = new Content(this.#durable.bytes);
    for (const pending of this.#pending) left.apply(pending, arrives);
    return left.bytes;
  }
}

/**
 * Every write, fsync and response of two services, one after the other: the first is killed under load; the second starts while a
 * reader prevents a checkpoint, and gets every plant again that had no response.
 */
export async function recordCalls(database: string): Promise<Call[]> {
  const load = { next: 0, unanswered: new Set<number>() };
  const first = await recordService(database, load, plants / 2);
  using reader = new Database(database, { readonly: true });
  reader.run("BEGIN");
  reader.query("SELECT count(*) FROM plants").get();
  return [...first, ...(await recordService(database, load, plants))];
}

async function recordService(
  database: string,
  load: { next: number; readonly unanswered: Set<number> },
  until: number,
): Promise<Call[]> {
  const main = fileURLToPath(new URL("../../src/main.ts", import.meta.url));
  const log = `${database}.calls-${until}`;
  const traced = "trace=pwrite64,ftruncate,fsync,fdatasync,sendto";
  const args = ["-f", "-y", "-xx", "-s", "1000000", "-e", traced, "-o", log, process.execPath, main, "serve"];
  const child = spawn("strace", [...args, "--listen", "127.0.0.1:0", "--database", database], {
    env: {
      PATH: process.env["PATH"] ?? "",
      PLANT_STORE_ACCESS_TOKEN: accessToken,
      PLANT_STORE_OPERATOR_LISTEN: "off",
    },
    stdio: ["ignore", "ignore", "pipe"],
  });
  let err = "";
  child.stderr.on("data", (text) => {
    err += text;
  });
  await eventually(() => err.includes("listening"), "the service to listen");
  const url = /"url\.full":"([^"]+)"/.exec(err)?.[1] ?? "";
  const send = async (number: number): Promise<void> => {
    const id = BigInt.asIntN(64, BigInt(number) * 0x9e3779b97f4a7c15n);
    load.unanswered.add(number);
    const { status } = await fetch(`${url}/plants`, {
      method: "POST",
      headers: { Authorization: `Bearer ${accessToken}`, "Content-Type": "application/json" },
      body: `{"id":${id},"name":"plant ${id}"}`,
    });
    if (status === 200) load.unanswered.delete(number);
  };
  // Again, since nobody knows whether they are stored.
  await Promise.all([...load.unanswered].map(send));
  const client = async (): Promise<void> => {
    while (load.next < until) await send(load.next++);
  };
  // Killed when the first client is done, with the plants of the others in flight.
  const all = Array.from({ length: clients }, client);
  await Promise.race(all);
  const ended = new Promise((resolve) => child.on("close", resolve));
  // The one child of strace.
  process.kill(Number(readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, "utf8")), "SIGKILL");
  await Promise.all([ended, Promise.allSettled(all)]);
  return readFileSync(log, "latin1").split("\n").flatMap(callReader(database));
}

/** The content of a file. Its buffer doubles, since a WAL grows by thousands of small writes. */
class Content {
  #buffer: Buffer;
  #size: number;

  constructor(bytes: Buffer = Buffer.alloc(0)) {
    this.#buffer = Buffer.from(bytes);
    this.#size = bytes.length;
  }

  get bytes(): Buffer {
    return this.#buffer.subarray(0, this.#size);
  }

  /** Each sector of a write arrives or not. */
  apply(call: Change, arrives: () => boolean): void {
    if (call.kind === "truncate") {
      if (arrives()) this.#resize(call.size);
      return;
    }
    const { at, bytes } = call;
    if (at + bytes.length > this.#size) this.#resize(at + bytes.length);
    for (let start = 0; start < bytes.length; ) {
      const end = Math.min(bytes.length, start + sectorBytes - ((at + start) % sectorBytes));
      if (arrives()) bytes.copy(this.#buffer, at + start, start, end);
      start = end;
    }
  }

  #resize(size: number): void {
    if (size > this.#buffer.length) {
      const larger = Buffer.alloc(2 * size);
      this.bytes.copy(larger);
      this.#buffer = larger;
    } else this.#buffer.fill(0, Math.min(size, this.#size), Math.max(size, this.#size));
    this.#size = size;
  }
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
  const file = unescaped(path).toString();
  if (name === "sendto") {
    const text = unescaped(/^"([^"]*)"/.exec(rest)?.[1] ?? "").toString();
    const names = text.startsWith("HTTP/1.1 200")
      ? [...text.matchAll(/"name":"(plant -?\d+)"/g)].map((match) => match[1] ?? "")
      : [];
    return names.length > 0 ? [{ kind: "answer", names }] : [];
  }
  if (file !== database && file !== `${database}-wal`) return [];
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
