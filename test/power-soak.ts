// npm run soak:power [-- CUTS]
// Simulates power losses: records every write, fsync and response of loaded services with strace, and for many points in time
// builds the disk that a power loss could have left: everything that was fsynced, and any subset of the other sectors. The store then
// starts on each of these disks, and every plant acknowledged by then must be on it.
import { Database } from "bun:sqlite";
import { spawn } from "node:child_process";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { openWriter } from "../src/storage/sqlite/writing/open-writer.ts";
import { accessToken, eventually, temporaryFolder } from "./harness.ts";

type Call =
  | { readonly kind: "write"; readonly file: string; readonly at: number; readonly bytes: Buffer }
  | { readonly kind: "truncate"; readonly file: string; readonly size: number }
  | { readonly kind: "sync-started" | "sync"; readonly file: string; readonly thread: string }
  | { readonly kind: "answer"; readonly names: readonly string[] };

type Change = Extract<Call, { kind: "write" | "truncate" }>;

/** One file: its durable content, and what was written since. */
class Disk {
  #bytes: Buffer = Buffer.alloc(0);
  #pending: Change[] = [];
  /** For each thread in a sync, how many pending writes it covers: those before the sync started. */
  readonly #covered = new Map<string, number>();

  take(call: Exclude<Call, { kind: "answer" }>): void {
    if (call.kind === "write" || call.kind === "truncate") this.#pending.push(call);
    else if (call.kind === "sync-started") this.#covered.set(call.thread, this.#pending.length);
    else this.#synced(this.#covered.get(call.thread) ?? 0);
  }

  #synced(count: number): void {
    for (const pending of this.#pending.splice(0, count))
      this.#bytes = applied(this.#bytes, pending, () => true);
    for (const [thread, covered] of this.#covered) this.#covered.set(thread, Math.max(0, covered - count));
  }

  /** Writes that were not synced are lost or, with torn sectors, a random half of them. */
  afterCut(torn: boolean): Buffer {
    const arrives = () => torn && Math.random() < 0.5;
    let bytes: Buffer = Buffer.from(this.#bytes);
    for (const pending of this.#pending) bytes = applied(bytes, pending, arrives);
    return bytes;
  }
}

function applied(disk: Buffer, call: Change, arrives: () => boolean): Buffer {
  if (call.kind === "truncate") return arrives() ? resized(disk, call.size) : disk;
  const { at, bytes } = call;
  const after = at + bytes.length > disk.length ? resized(disk, at + bytes.length) : disk;
  for (let start = 0; start < bytes.length; ) {
    const end = Math.min(bytes.length, start + sectorBytes - ((at + start) % sectorBytes));
    if (arrives()) bytes.copy(after, at + start, start, end);
    start = end;
  }
  return after;
}

function resized(disk: Buffer, size: number): Buffer {
  const after = Buffer.alloc(size);
  disk.copy(after);
  return after;
}

const cuts = Number(process.argv[2] ?? 300);
// Enough for the WAL to be checkpointed meanwhile, by the checkpoint thread.
const plants = 12_000;
const clients = 24;
const sectorBytes = 512;

if (!existsSync("/usr/bin/strace")) {
  console.error("soak:power records system calls with strace; install your system's package of that name.");
  process.exit(1);
}
using folder = temporaryFolder();
const calls = await record(join(folder.path, "plants.db"));
const answers = calls.flatMap((call, index) => (call.kind === "answer" ? [index] : []));
console.error(`${calls.length} calls recorded, ${answers.length} of them answers`);
const checkpointed = calls.filter((call) => call.kind === "write" && !call.file.endsWith("-wal")).length;
console.error(`${checkpointed} writes of checkpoints are among them`);
const cutAt = new Set(
  Array.from({ length: cuts }, (_, index) => answers[Math.floor((answers.length * (index + 1)) / cuts) - 1]),
);
const disks = new Map<string, Disk>();
const acknowledged: string[] = [];
let missing = 0;
let checked = 0;
for (const [index, call] of calls.entries()) {
  if (call.kind === "answer") acknowledged.push(...call.names);
  else {
    if (!disks.has(call.file)) disks.set(call.file, new Disk());
    disks.get(call.file)?.take(call);
  }
  if (!cutAt.has(index)) continue;
  for (const torn of [false, true]) {
    const there = recover(disks, torn);
    const lost = acknowledged.filter((name) => !there.has(name)).length;
    missing += lost;
    checked++;
    if (lost > 0)
      console.error(
        `lost at call ${index}${torn ? ", sectors torn" : ""}: ${lost} acknowledged plants missing`,
      );
  }
  if (checked % 100 === 0)
    console.error(`${checked} power losses so far, ${acknowledged.length} acknowledged`);
}
console.log(
  `${checked} power losses, ${acknowledged.length} acknowledged, ${missing} missing after a recovery`,
);
process.exitCode = missing === 0 && answers.length > 0 ? 0 : 1;

/**
 * Two services, one after the other: the first is killed under load; the second starts while a reader prevents
 * a checkpoint, and gets every plant again that had no response.
 */
async function record(database: string): Promise<Call[]> {
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
  const main = fileURLToPath(new URL("../src/main.ts", import.meta.url));
  const log = join(folder.path, `calls-${until}`);
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
  await eventually(() => err.includes("listening"), 20_000);
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
  await Promise.all([...load.unanswered].map(send));
  const client = async (): Promise<void> => {
    while (load.next < until) await send(load.next++);
  };
  // Killed when the first client is done, with the plants of the others in flight.
  const all = Array.from({ length: clients }, client);
  await Promise.race(all);
  const ended = new Promise((resolve) => child.on("close", resolve));
  spawn("pkill", ["-9", "-P", String(child.pid)]);
  await Promise.all([ended, Promise.allSettled(all)]);
  return readFileSync(log, "latin1").split("\n").flatMap(callReader(database));
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

/** Starts the store on a simulated disk, as the service does, and returns the names of all its plants. */
function recover(left: ReadonlyMap<string, Disk>, torn: boolean): Set<string> {
  const path = join(folder.path, "recovered.db");
  for (const [file, disk] of left)
    writeFileSync(file.endsWith("-wal") ? `${path}-wal` : path, disk.afterCut(torn));
  const { database, lock } = openWriter(path);
  const there = new Set(
    database
      .query<{ name: string }, []>("SELECT name FROM plants")
      .all()
      .map(({ name }) => name),
  );
  const check = database.query<{ quick_check: string }, []>("PRAGMA quick_check").get();
  if (check?.quick_check !== "ok")
    throw new Error(`the recovered database is damaged: ${check?.quick_check}`);
  database.close();
  lock[Symbol.dispose]();
  for (const suffix of ["", "-wal", "-shm"]) rmSync(path + suffix, { force: true });
  return there;
}
