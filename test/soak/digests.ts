import { Database } from "bun:sqlite";
import { spawnSync } from "node:child_process";
import { copyFileSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { StoreUnavailable } from "../../src/plants/plant-store.ts";
import { verifyDataFile } from "../../src/storage/sqlite/copying/verify.ts";
import { whyFailureUnrecorded } from "../../src/storage/sqlite/data-file/failure-marker.ts";
import { openForWriting } from "../../src/storage/sqlite/opening/open-for-writing.ts";
import { SqliteStore } from "../../src/storage/sqlite/sqlite-store.ts";
import { SqlitePlants } from "../../src/storage/sqlite/writing/sqlite-plants.ts";
import { Writer } from "../../src/storage/sqlite/writing/writer.ts";
import { DataFileBytes } from "../support/plant-bytes.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { runInProcess } from "../support/terminal.ts";
import { Clients, type Figures, type Soak, type SoakRun, serveOn } from "./rounds.ts";

const blockPlants = 1024;

export const digests: Soak = {
  summary: "flips single bits of plants, which verify must find, and looks for false alarms",
  unit: "rounds",
  rounds: 200,
  run: async (run) => [await runBitFlips(run), await runLives(run)],
};

const nameCharactersMax = 60_000;
const nameCharactersMean = 4000;

/**
 * In each round one bit of one column of a plant is flipped in a closed data file, and `verify` must name its block. A few plants
 * have very long names, most have short ones.
 */
export async function runBitFlips(
  { rounds, random, tell }: SoakRun,
  { blocks = 3, charactersMean = nameCharactersMean } = {},
): Promise<Figures> {
  using folder = temporaryFolder();
  const file = join(folder.path, "plants.db");
  const plants = blocks * blockPlants;
  {
    await using store = new SqliteStore(file);
    for (let first = 1; first <= plants; first += 64) {
      const plantsToStore = Array.from({ length: 64 }, (_, index) => ({
        plant: {
          id: BigInt.asIntN(64, BigInt(first + index) * 0x9e3779b97f4a7c15n),
          name: nameOf(random, charactersMean),
          tag: random() < 0.2 ? undefined : `tag ${Math.floor(random() * 9)}`,
        },
        createdBy: "soak",
      }));
      await store.plants.create(plantsToStore, Date.now());
    }
  }
  const sound = await verifyDataFile(file);
  if (sound.problems.length > 0) throw new Error(`before any flip: ${sound.problems.join("; ")}`);
  const bytes = readFileSync(file);
  const located = new DataFileBytes(bytes, file);
  const flipped = join(folder.path, "flipped.db");
  const missed: string[] = [];
  for (let round = 1; round <= rounds; round++) {
    const { seq, column, offsets } = located.pick(random);
    const offset = offsets[Math.floor(random() * offsets.length)] ?? 0;
    const mask = 1 << Math.floor(random() * 8);
    const changed = Buffer.from(bytes);
    changed.writeUInt8(changed.readUInt8(offset) ^ mask, offset);
    writeFileSync(flipped, changed);
    const block = Math.floor((seq - 1) / blockPlants);
    const problems = (await verifyDataFile(flipped)).problems.join("\n");
    // A changed seq may put the plant into another block, or out of order.
    const isFound = column === "seq" ? problems !== "" : problems.includes(`block ${block} (`);
    if (!isFound) missed.push(`${column} of plant ${seq}, byte ${offset}, mask ${mask}`);
    tell(`round ${round} of ${rounds}: ${column} of plant ${seq}: ${isFound ? "found" : "NOT FOUND"}`);
  }
  const figures = {
    what: "one bit of a plant flipped in the data file",
    rounds,
    acknowledged: plants,
    lost: 0,
    note: `${rounds - missed.length} of ${rounds} found by verify; the digests take ${digestBytesPerPlant(file).toFixed(3)} bytes per plant`,
  };
  return missed.length === 0 ? figures : { ...figures, failure: `NOT FOUND: ${missed.join("; ")}` };
}

/** Mostly short, a few long, with letters of one to four bytes. */
function nameOf(random: () => number, mean: number): string {
  const length = Math.min(nameCharactersMax, Math.floor(-Math.log(1 - random()) * mean));
  const letters = ["a", "B", " ", '"', "é", "日", "🌱"];
  const letter = random() < 0.5 ? "x" : (letters[Math.floor(random() * letters.length)] ?? "");
  return letter.repeat(Math.floor(length / letter.length));
}

/** With many blocks, so that the first page of the table does not count for much. */
function digestBytesPerPlant(file: string): number {
  const copy = `${file}.growth`;
  copyFileSync(file, copy);
  using database = new Database(copy);
  database.run("PRAGMA journal_mode = DELETE");
  const blocks = 10_000;
  database.run("DELETE FROM block_digests");
  const bytes = (): number => {
    database.run("VACUUM");
    return statSync(copy).size;
  };
  const without = bytes();
  database.run(
    `WITH RECURSIVE each (block) AS (SELECT 0 UNION ALL SELECT block + 1 FROM each LIMIT ${blocks})
     INSERT INTO block_digests SELECT block, randomblob(32) FROM each`,
  );
  return (bytes() - without) / (blocks * blockPlants);
}

const stepsPerLife = 6;
const loadedMsMax = 150;

/** What may happen to a data file. Each returns the file to go on with. */
type Step = (file: string, life: Life) => Promise<string>;

interface Life {
  readonly folder: string;
  readonly random: () => number;
  /** A file or an id that is not used yet. */
  next(): number;
}

const steps: Readonly<Record<string, Step>> = {
  /** Batches that do not divide blocks, and a restart in the middle of one. */
  async creates(file, life) {
    await using store = new SqliteStore(file);
    const batches = Math.ceil(life.random() * 8);
    for (let batch = 0; batch < batches; batch++)
      await store.plants.create(plantsToStore(life, Math.ceil(life.random() * 400)), Date.now());
    return file;
  },

  async "verify and backup while plants are created"(file, life) {
    await using store = new SqliteStore(file);
    let isDone = false;
    const creating = (async () => {
      while (!isDone) {
        await store.plants.create(plantsToStore(life, 30), Date.now());
        // Faster, the store would have so many plants that all later steps take long.
        await Bun.sleep(20);
      }
    })();
    try {
      await command("verify", "--database", file);
      const backup = join(life.folder, `backup-${life.next()}.db`);
      await command("backup", backup, "--database", file);
      await command("verify", "--database", backup);
    } finally {
      isDone = true;
      await creating;
    }
    return file;
  },

  async "kill -9"(file, life) {
    await using serving = await serveOn(file);
    await using load = new Clients(16, () => serving.url, BigInt(life.next()) * 1_000_000_007n);
    await load.acknowledgedAgain();
    await Bun.sleep(life.random() * loadedMsMax);
    load.paused = true;
    serving.child.kill("SIGKILL");
    await serving.ended;
    return file;
  },

  async "a full disk"(file, life) {
    using opened = openForWriting(file);
    const { database } = opened;
    const owner = { afterCommit: () => {}, reportUnknown: (reason: Error) => reason as never };
    const plants = new SqlitePlants(database, new Writer(database, owner));
    const pages = database.query<{ page_count: bigint }, []>("PRAGMA page_count").get()?.page_count ?? 0n;
    database.query(`PRAGMA max_page_count = ${pages + BigInt(Math.ceil(life.random() * 20))}`).get();
    let refused = 0;
    while (refused === 0)
      await plants.create(plantsToStore(life, 300), Date.now()).catch((error: unknown) => {
        if (!(error instanceof StoreUnavailable)) throw error;
        refused++;
      });
    database.query("PRAGMA max_page_count = 1000000").get();
    await plants.create(plantsToStore(life, 1100), Date.now());
    return file;
  },

  async "inserts by another program"(file, life) {
    // Its last connection would delete the WAL that a crash left.
    await restart(file);
    const count = Math.ceil(life.random() * 3000);
    const sql = `WITH RECURSIVE each (n) AS (SELECT ${life.next() * 1_000_000} UNION ALL SELECT n + 1 FROM each LIMIT ${count})
      INSERT INTO plants (id, name, created_at_ms, created_by) SELECT n, 'sqlite3 ' || n, 1, 'sqlite3' FROM each`;
    const { error, status, stderr } = spawnSync("sqlite3", [file, sql], { encoding: "utf8" });
    if (error === undefined && status !== 0) throw new Error(stderr);
    if (error === undefined) return file;
    // This machine has no sqlite3.
    using database = new Database(file);
    database.run(sql);
    return file;
  },

  async "backup and restore"(file, life) {
    const backup = join(life.folder, `backup-${life.next()}.db`);
    const restored = join(life.folder, `restored-${life.next()}.db`);
    await command("backup", backup, "--database", file);
    await command("verify", "--database", backup);
    await command("restore", backup, "--database", restored);
    return restored;
  },

  async "a rebuild after a failed fsync"(file) {
    whyFailureUnrecorded(file, "sync-failed");
    await restart(file);
    return file;
  },

  async copy(file, life) {
    // It migrates no file that it only reads.
    await restart(file);
    const copied = join(life.folder, `copied-${life.next()}.db`);
    await command("copy", "--from", file, "--to", copied);
    return copied;
  },
};

/**
 * In each round a data file goes through a few of these steps, in any order, or once through all of them, and `verify` must find
 * nothing after each of them.
 */
export async function runLives(
  { rounds, random, tell }: SoakRun,
  { everyStep = false } = {},
): Promise<Figures> {
  let plants = 0;
  const alarms: string[] = [];
  const names = Object.keys(steps);
  const randomSteps = () =>
    Array.from({ length: stepsPerLife }, () => names[Math.floor(random() * names.length)] ?? "");
  for (let round = 1; round <= rounds; round++) {
    using folder = temporaryFolder();
    let used = 0;
    const life: Life = {
      folder: folder.path,
      random,
      next() {
        used++;
        return used;
      },
    };
    const past: string[] = [];
    let file = join(folder.path, "plants.db");
    for (const name of ["creates", ...(everyStep ? names : randomSteps())]) {
      past.push(name);
      file = await run(name, file, life);
      const { problems } = await verifyDataFile(file);
      if (problems.length > 0) alarms.push(`after ${past.join(", ")}: ${problems.join("; ")}`);
    }
    plants += (await verifyDataFile(file)).plants;
    tell(`round ${round} of ${rounds}: ${past.join(", ")}`);
  }
  const what = "data files after kills, a full disk, restores and more";
  const note = `${alarms.length} false alarms of verify`;
  const figures = { what, rounds, acknowledged: plants, lost: 0, note };
  return alarms.length === 0 ? figures : { ...figures, failure: alarms.join("\n") };
}

async function run(name: string, file: string, life: Life): Promise<string> {
  const step = steps[name];
  if (step === undefined) throw new Error(`there is no step ${name}`);
  try {
    return await step(file, life);
  } catch (error) {
    throw new Error(`${name} failed: ${(error as Error).message}`, { cause: error });
  }
}

/** A start and a clean stop: what a crash left is recovered, and an older file is migrated. */
async function restart(file: string): Promise<void> {
  await new SqliteStore(file)[Symbol.asyncDispose]();
}

function plantsToStore(life: Life, count: number) {
  return Array.from({ length: count }, () => {
    const id = BigInt(life.next()) * -1_000_003n;
    return {
      plant: { id, name: `Fern ${id}`, tag: id % 3n === 0n ? undefined : "green" },
      createdBy: "soak",
    };
  });
}

async function command(...args: string[]): Promise<void> {
  const { code, err } = await runInProcess(args);
  if (code !== 0) throw new Error(err);
}
