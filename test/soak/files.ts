import { Database } from "bun:sqlite";
import { spawnSync } from "node:child_process";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
} from "node:fs";
import { join } from "node:path";
import { SqliteStore } from "../../src/storage/sqlite/sqlite-store.ts";
import { plantStore, type Serving, serve } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";
import { createStatus, statusOf } from "../support/post-plants.ts";
import { type PlantRow, storedPlants, testPlants } from "../support/stored-plants.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { Clients, type Figures, type Soak, type SoakRun, serveOn } from "./rounds.ts";

const clients = 16;
const noticedMsMax = 3000;
const loadedMsMax = 1500;
// Enough for a few hundred KiB, so that each of the scripts below changes pages.
const plantsBefore = 3000;
const idsBefore = Array.from({ length: plantsBefore }, (_, index) => index + 1);
const controlMinutesPerRound = 60 / 50;
const controlLifeMs = 120_000;

interface Hand {
  readonly what: string;
  /** Run in the folder of the store, beside a backup, a closed copy of an earlier run, and a raw copy made while it runs. */
  readonly script: string;
  /** How many of the rounds must notice it; all by default. */
  readonly share?: number;
  /** Only the process still has the files, and they can be copied from it. */
  readonly canBeRescued?: true;
  /** The process ends. */
  readonly ends?: true;
}

const hands: readonly Hand[] = [
  { what: "cp of a backup", script: "cp backup.db plants.db" },
  { what: "cp of a closed copy of an earlier run", script: "cp earlier.db plants.db" },
  { what: "emptied", script: "truncate -s 0 plants.db" },
  { what: "zeros over its first 64 KiB", script: "dd if=/dev/zero of=plants.db bs=64k count=1 conv=notrunc" },
  { what: "halved", script: "truncate -s $(($(stat -c %s plants.db) / 2)) plants.db", share: 0.96 },
  { what: "cp of a shorter raw copy of itself", script: "cp raw.db plants.db", share: 0.96 },
  { what: "rm of the data file", script: "rm plants.db", canBeRescued: true },
  { what: "rm of the WAL", script: "rm plants.db-wal", canBeRescued: true },
  { what: "rm of the -shm", script: "rm plants.db-shm", ends: true },
  { what: "mv of a backup over it", script: "mv backup.db plants.db", canBeRescued: true },
  { what: "mv of a closed copy over it", script: "mv earlier.db plants.db", canBeRescued: true },
];

export const files: Soak = {
  summary:
    "what operators do by hand to the files of a store, half of it under load, and an hour without false alarm",
  unit: "rounds",
  rounds: 50,
  async run(run) {
    using folder = temporaryFolder();
    await makeTemplate(folder.path);
    const figures: Figures[] = [];
    for (const hand of hands) figures.push(await rowOfHand(hand, folder.path, run));
    figures.push(await rowOf("a backup copied over a crashed store", folder.path, run, copyOverCrashed));
    figures.push(await rowOf("a disk that is not mounted", folder.path, run, unmountedDisk));
    figures.push(await control(run));
    return figures;
  },
};

/** A closed store with a backup, and a copy of it from before the last plants were created. */
async function makeTemplate(folder: string): Promise<void> {
  const file = join(folder, "plants.db");
  const create = async (ids: readonly number[]): Promise<void> => {
    await using store = new SqliteStore(file);
    await store.plants.create(testPlants(ids), Date.now());
  };
  await create(idsBefore.slice(0, plantsBefore - 100));
  copyFileSync(file, join(folder, "earlier.db"));
  await succeed("backup", join(folder, "backup.db"), "--database", file);
  await create(idsBefore.slice(-100));
}

/** What one round had, and what was wrong in it. */
interface Round {
  readonly folder: string;
  readonly file: string;
  readonly load: Clients;
  /** Starts the service; undefined while it does not run. */
  start(): Promise<Serving>;
  stop(signal: NodeJS.Signals): Promise<void>;
  /** How many acknowledged plants the data file lacks. */
  lost(): Promise<number>;
  readonly isUnderLoad: boolean;
  readonly random: () => number;
  readonly problems: string[];
}

/** Each round in fresh copies of the template, half of them under load. `work` returns what it counts. */
async function rowOf(
  what: string,
  template: string,
  { rounds, random, tell }: SoakRun,
  work: (round: Round) => Promise<string>,
): Promise<Figures> {
  const counts = new Map<string, number>();
  const all: string[] = [];
  let acknowledged = 0;
  let missing = 0;
  for (let number = 1; number <= rounds; number++) {
    using own = temporaryFolder();
    for (const name of readdirSync(template)) copyFileSync(join(template, name), join(own.path, name));
    const file = join(own.path, "plants.db");
    let serving: Serving | undefined;
    await using load = new Clients(clients, () => serving?.url);
    const problems: string[] = [];
    const round: Round = {
      folder: own.path,
      file,
      load,
      isUnderLoad: number % 2 === 0,
      random,
      problems,
      async start() {
        serving = await serveOn(file);
        return serving;
      },
      async stop(signal) {
        serving?.child.kill(signal);
        await serving?.ended;
        serving = undefined;
      },
      async lost() {
        const stored = readPlants(file);
        const ids = new Set(stored.map(({ id }) => Number(id)));
        const lost = (await load.lostIn(() => stored)) + idsBefore.filter((id) => !ids.has(id)).length;
        if (lost > 0) problems.push(`${lost} acknowledged plants are lost without a word`);
        missing += lost;
        return lost;
      },
    };
    try {
      const outcome = await work(round);
      counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
    } catch (error) {
      problems.push(
        String((error as Error).message)
          .trim()
          .slice(-500),
      );
    } finally {
      await round.stop("SIGKILL");
    }
    acknowledged += load.acknowledged;
    for (const problem of problems) tell(`${what}, round ${number}: ${problem}`);
    all.push(...problems);
  }
  const note = Array.from(counts, ([outcome, count]) => `${outcome}: ${count}`).join("; ");
  tell(`${what}: ${note}`);
  const figures = { what, rounds, acknowledged, lost: missing, note };
  return all.length === 0 ? figures : { ...figures, failure: `${all.length} problems, ${all[0]}; ${note}` };
}

async function rowOfHand(hand: Hand, template: string, run: SoakRun): Promise<Figures> {
  const times: number[] = [];
  const figures = await rowOf(hand.what, template, run, async (round) => {
    return handInFiles(hand, round, (tookMs) => times.push(tookMs));
  });
  const noticed = `noticed ${times.length} of ${run.rounds}, at most ${Math.round(Math.max(0, ...times))} ms`;
  run.tell(`${hand.what}: ${noticed}`);
  const note = `${noticed}; ${figures.note}`;
  const isMissed = times.length < run.rounds * (hand.share ?? 1);
  if (isMissed) return { ...figures, note, failure: `NOT NOTICED: ${note}` };
  return { ...figures, note };
}

async function handInFiles(
  { script, canBeRescued, ends }: Hand,
  round: Round,
  onNoticed: (tookMs: number) => void,
): Promise<string> {
  const { folder, file, load, isUnderLoad, random, problems } = round;
  const running = await round.start();
  copyFileSync(file, join(folder, "raw.db"));
  if (random() < 0.8) await load.acknowledgedAgain();
  await Bun.sleep(random() * loadedMsMax);
  const rawBytes = statSync(join(folder, "raw.db")).size;
  if (script.includes("raw.db"))
    await eventually(() => statSync(file).size > rawBytes, "a checkpoint that lengthens the file");
  load.paused = !isUnderLoad;
  if (!isUnderLoad) await Bun.sleep(random() * loadedMsMax);
  spawnSync("sh", ["-c", script], { cwd: folder });
  const sinceMs = performance.now();
  const hasNoticed = async () => (await statusOf(running.url, "/readyz").catch(() => 0)) !== 200;
  let took: number | undefined;
  while (took === undefined && performance.now() - sinceMs < noticedMsMax) {
    if (await hasNoticed()) took = performance.now() - sinceMs;
    else await Bun.sleep(20);
  }
  if (took !== undefined) onNoticed(took);
  const isRefused = (await createStatus(running.url, -1).catch(() => 0)) !== 200;
  if (took !== undefined && !isRefused) problems.push("a plant was acknowledged after it was noticed");
  if (ends) await running.ended;
  else await Bun.sleep(100);
  if (took !== undefined && !ends && running.child.exitCode !== null)
    problems.push("it ended, before anyone could copy its files");
  if (canBeRescued) rescue(running.child.pid ?? 0, file, join(folder, "rescued.db"));
  load.paused = true;
  await round.stop(random() < 0.5 ? "SIGKILL" : "SIGTERM");

  // The next start has everything or is refused, and then a restore of the rescued files, or of the backup, is the way on.
  const refusal = await round.start().then(
    () => undefined,
    ({ message }: Error) => message,
  );
  if (refusal === undefined && took === undefined) return "not noticed, and started";
  if (refusal === undefined) return (await round.lost()) === 0 ? "recovered" : "LOST";
  const from = [canBeRescued ? "rescued.db" : "", "backup.db", "earlier.db"].find(
    (name) => name !== "" && existsSync(join(folder, name)),
  );
  await succeed("restore", join(folder, from ?? ""), "--replace", "--database", file);
  await round.start();
  if (canBeRescued) await round.lost();
  return canBeRescued ? "refused and rescued" : "refused and restored";
}

/** Copies both files from the process that has them open, as docs/operating.md says. */
function rescue(pid: number, file: string, to: string): void {
  const handles = readdirSync(`/proc/${pid}/fd`).map((number) => `/proc/${pid}/fd/${number}`);
  for (const end of ["", "-wal"]) {
    const handle = handles.find((at) => existsSync(at) && readlinkSync(at) === `${file}${end} (deleted)`);
    copyFileSync(handle ?? file + end, to + end);
  }
}

/** Its WAL was left, and a reader had it open in every third round. */
async function copyOverCrashed(round: Round): Promise<string> {
  const { folder, file, load, random, problems } = round;
  await round.start();
  await load.acknowledgedAgain();
  await Bun.sleep(random() * loadedMsMax);
  load.paused = true;
  await round.stop("SIGKILL");
  using reader = random() < 0.33 ? new Database(file, { readonly: true }) : undefined;
  reader?.run("BEGIN");
  reader?.query("SELECT count(*) FROM plants").get();
  spawnSync("cp", ["backup.db", "plants.db"], { cwd: folder });
  const wal = readFileSync(`${file}-wal`);
  const refusal = await round.start().then(
    () => "",
    ({ message }: Error) => message,
  );
  if (refusal === "") problems.push("a backup beside the WAL of another file is not refused");
  if (!readFileSync(`${file}-wal`).equals(wal)) problems.push("the refused WAL was changed");
  const move = /`((?:mkdir|mv) [^`]+)`/.exec(refusal)?.[1] ?? "false";
  if (spawnSync("sh", ["-c", move]).status !== 0)
    problems.push(`the refusal names no mv that works: ${refusal}`);
  reader?.close();
  await round.start();
  await round.stop("SIGTERM");
  const stored = storedPlants(file).length;
  if (stored !== plantsBefore - 100) problems.push(`${stored} plants after the mv`);
  return `refused, and the mv works${reader === undefined ? "" : ", with a reader"}`;
}

/** The folder of the store is empty, or has only the record; or an empty store was started, and the nightly backup runs. */
async function unmountedDisk(round: Round): Promise<string> {
  const { folder, random, problems } = round;
  const [data, backups, away] = ["data", "backups", "away"].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  for (const made of [data, backups]) mkdirSync(made);
  const file = join(data, "plants.db");
  copyFileSync(round.file, file);
  await (await serveOn(file))[Symbol.asyncDispose]();
  for (let night = 1; night <= 2; night++)
    await succeed("backup", backups, "--keep", "2", "--database", file);
  const before = readdirSync(backups).sort().join();
  renameSync(data, away);
  mkdirSync(data);
  const hasRecord = random() < 0.5;
  const record = `${file}.last-backup.json`;
  if (hasRecord) copyFileSync(join(away, "plants.db.last-backup.json"), record);
  const options = hasRecord ? [] : ["--backup-folder", backups];
  const service = await serve(["--database", file, "--operator-listen", "off", ...options]).catch(
    () => undefined,
  );
  if (service !== undefined) problems.push("a store that is not mounted is begun again");
  await service?.[Symbol.asyncDispose]();
  if (existsSync(file)) problems.push("a refused start left a data file");
  rmSync(record, { force: true });
  // Without the folder of backups nothing says that there was a store.
  await (await serveOn(file))[Symbol.asyncDispose]();
  const night = await plantStore(["backup", backups, "--keep", "2", "--database", file]);
  if (night.code !== 1) problems.push(`the backup of the empty store exits with ${night.code}: ${night.err}`);
  const after = readdirSync(backups);
  if (before.split(",").some((name) => !after.includes(name))) problems.push("a good backup was deleted");
  rmSync(data, { recursive: true });
  renameSync(away, data);
  await (await serveOn(file))[Symbol.asyncDispose]();
  if (storedPlants(file).length !== plantsBefore)
    problems.push("the store that is mounted again lacks plants");
  return hasRecord ? "refused by its record" : "refused by its backups";
}

/** Everything that may happen beside a loaded service. */
const besides: readonly ((file: string, number: number) => Promise<unknown>)[] = [
  (file, number) => succeed("token", "create", "--name", `token-${number}`, "--database", file),
  (file, number) => succeed("backup", `${file}.backup-${number}`, "--database", file),
  ...["wal_checkpoint(PASSIVE)", "wal_checkpoint(TRUNCATE)"].map(
    (pragma) => async (file: string) => runBeside(file, `PRAGMA ${pragma}`),
  ),
  async (file) => runBeside(file, "VACUUM"),
  async (file) => {
    using reader = new Database(file, { readonly: true });
    reader.run("BEGIN");
    reader.query("SELECT count(*) FROM plants").get();
    await Bun.sleep(2000);
  },
  (file) => succeed("list", "--database", file),
];

function runBeside(file: string, sql: string): void {
  using database = new Database(file);
  database.run("PRAGMA busy_timeout = 2000");
  try {
    database.run(sql);
  } catch (error) {
    if (!/locked/.test(String(error))) throw error;
  }
}

async function control({ rounds, random, tell }: SoakRun): Promise<Figures> {
  const minutes = rounds * controlMinutesPerRound;
  const endMs = performance.now() + minutes * 60_000;
  const alarms: string[] = [];
  let acknowledged = 0;
  let lost = 0;
  let events = 0;
  while (performance.now() < endMs) {
    using folder = temporaryFolder();
    const file = join(folder.path, "plants.db");
    await using serving = await serveOn(file);
    await using load = new Clients(clients, () => serving.url);
    const lifeEndMs = Math.min(endMs, performance.now() + controlLifeMs);
    const actOne = async (): Promise<void> => {
      while (performance.now() < lifeEndMs) {
        await besides[Math.floor(random() * besides.length)]?.(file, events++);
        await Bun.sleep(random() * 500);
      }
    };
    await Promise.all([actOne(), actOne()]);
    if (serving.child.exitCode === null)
      await load.acknowledgedAgain().catch(() => alarms.push("no more 200"));
    await load.stop();
    if (/overwritten|replaced|was deleted/.test(serving.err()) || serving.child.exitCode !== null)
      alarms.push(serving.err().slice(-500));
    serving.child.kill("SIGTERM");
    await serving.ended;
    acknowledged += load.acknowledged;
    lost += await load.lostIn(() => storedPlants(file));
    tell(`control: ${acknowledged} acknowledged, ${events} events, ${alarms.length} alarms`);
  }
  const note = `${minutes.toFixed(1)} minutes, ${events} commands, checkpoints, VACUUMs and readers beside it, ${alarms.length} alarms`;
  const figures = { what: "no false alarm under load", rounds, acknowledged, lost, note };
  if (alarms.length > 0) return { ...figures, failure: `FALSE ALARM: ${alarms[0]}` };
  return lost > 0 ? { ...figures, failure: "ACKNOWLEDGED PLANTS ARE LOST" } : figures;
}

/** Of a file that is malformed, none. */
function readPlants(file: string): PlantRow[] {
  try {
    return storedPlants(file);
  } catch {
    return [];
  }
}

async function succeed(...args: readonly string[]): Promise<void> {
  const { code, err } = await plantStore(args);
  if (code !== 0) throw new Error(`${args[0]} exits with ${code}: ${err}`);
}
