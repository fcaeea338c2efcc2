import { Database } from "bun:sqlite";
import { spawnSync } from "node:child_process";
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { ImmutableDatabase } from "../../src/storage/sqlite/data-file/connect.ts";
import { readMarker, whyFailureUnrecorded } from "../../src/storage/sqlite/data-file/failure-marker.ts";
import { SqliteStore } from "../../src/storage/sqlite/sqlite-store.ts";
import { Problem } from "../../src/system/problem.ts";
import { main, start } from "./command.ts";
import { crashedStore } from "./crashed-store.ts";
import { buildShim } from "./shims.ts";
import { storedPlants, testPlant } from "./stored-plants.ts";
import { temporaryFolder } from "./temporary-folder.ts";
import { runInProcess } from "./terminal.ts";

/** What a process does that is killed at each of its changes of a file, and what must hold then. */
export interface Scenario {
  readonly what: string;
  /** Puts the files there that the process starts with. Returns the ids of the plants in them. */
  prepare(folder: string): Promise<readonly bigint[]>;
  /** What Bun runs. */
  command(folder: string): readonly string[];
  /**
   * What is wrong in the folder of a process that was killed; undefined if nothing is. `ids`: of the plants that were there or
   * acknowledged.
   */
  problemOf(folder: string, ids: readonly bigint[]): Promise<string | undefined>;
}

export interface Swept {
  /** How many changes of a file the process made when it was not killed. */
  readonly points: number;
  readonly kills: number;
  readonly acknowledged: number;
  /** Each with the change before which the process was killed. */
  readonly problems: readonly string[];
}

const shortLife = fileURLToPath(new URL("../fixtures/short-life.ts", import.meta.url));
const name = "plants.db";
// So many that the next ones, and their entries in the index, go to pages that are there already, after the page with the mark.
// Then a data file that lacks the last pages of a checkpoint looks sound.
const prepared = Array.from({ length: 1000 }, (_, index) => BigInt(index + 1));
const checkpointed = prepared.slice(0, -5);
// Of another store, whose backup is restored.
const restored = [5001n, 5002n, 5003n];
// As many processes at a time as the machines of the tests have cores.
const processesMax = 2;

/**
 * Runs the process once for each change of a file that it makes, or for some `killsMax` of them evenly spread, each time with
 * fresh files, and kills it right before that change.
 */
export async function sweep(scenario: Scenario, killsMax = Number.POSITIVE_INFINITY): Promise<Swept> {
  using root = temporaryFolder();
  const shim = buildShim("kill-at", root.path);
  const template = join(root.path, "template");
  mkdirSync(template);
  const before = await scenario.prepare(template);
  const run = (folder: string, killAt: number) => {
    cpSync(template, folder, { recursive: true });
    return runKilled(scenario.command(folder), {
      LD_PRELOAD: shim,
      KILL_PATH: folder,
      KILL_AT: String(killAt),
      KILL_LOG: `${folder}.changes`,
    });
  };

  const whole = join(root.path, "whole");
  const { code, err } = await run(whole, 0);
  if (code !== 0) throw new Error(`${scenario.what}: ${err}`);
  const changes = readFileSync(`${whole}.changes`, "utf8").trim().split("\n");

  const chosenCount = Math.min(changes.length, killsMax);
  const chosen = Array.from({ length: chosenCount }, (_, index) =>
    Math.ceil(((index + 1) * changes.length) / chosenCount),
  );
  const problems: string[] = [];
  let acknowledged = 0;
  let kills = 0;
  const work = async (): Promise<void> => {
    for (let point = chosen.shift(); point !== undefined; point = chosen.shift()) {
      const folder = join(root.path, String(point));
      const ended = await run(folder, point);
      if (ended.killed) kills++;
      const ids = [...before, ...ended.acknowledged];
      acknowledged += ids.length;
      const problem = await scenario.problemOf(folder, ids);
      const change = readFileSync(`${folder}.changes`, "utf8").trim().split("\n").at(-1);
      if (problem !== undefined) problems.push(`${change?.replaceAll(folder, "")}: ${problem}`);
      rmSync(folder, { recursive: true });
    }
  };
  await Promise.all(Array.from({ length: processesMax }, work));
  return { points: changes.length, kills, acknowledged, problems };
}

/** The start of a store, some plants, and its stop. */
const life = (
  what: string,
  plants: readonly [first: string, last: string],
  prepare: Scenario["prepare"],
): Scenario => ({
  what: `${what}, from its start to its stop`,
  prepare,
  command: (folder) => [shortLife, join(folder, name), ...plants],
  problemOf: lostPlants,
});

const lives: readonly Scenario[] = [
  life("a new store", ["1", "3"], async () => []),
  life("a closed store", ["1001", "1003"], (folder) => closed(folder, prepared)),
  life("a store that was killed", ["1001", "1001"], crashed),
  // Its WAL says "closed", after plants that its data file does not have.
  life("a store that a reader kept from checkpointing at its stop", ["1002", "1002"], async (folder) => {
    await closed(folder, prepared);
    const path = join(folder, name);
    const store = new SqliteStore(path);
    using reader = new Database(path, { readonly: true });
    reader.run("BEGIN");
    reader.query("SELECT count(*) FROM plants").get();
    await store.plants.create([testPlant(1001)], Date.now());
    await store[Symbol.asyncDispose]();
    return [...prepared, 1001n];
  }),
  life("a store whose fsync failed", ["1001", "1001"], async (folder) => {
    const ids = await crashed(folder);
    whyFailureUnrecorded(join(folder, name), "sync-failed");
    return ids;
  }),
  // With what a crash left of a WAL. Its first start makes it a store in use.
  life("a backup that was copied to the place of a store", ["1", "3"], async (folder) => {
    const source = join(folder, "source");
    mkdirSync(source);
    await closed(source, restored);
    await using _running = new SqliteStore(join(source, name));
    await runCommand(["backup", join(folder, name), "--database", join(source, name)]);
    writeFileSync(join(folder, `${name}-wal`), Buffer.alloc(2000));
    return restored;
  }),
];

// Old files with a WAL, as after a crash.
const replacement: Scenario = {
  what: "restore --replace of a store that was killed",
  async prepare(folder) {
    const source = join(folder, "source");
    mkdirSync(source);
    await closed(source, restored);
    await runCommand(["backup", join(folder, "backup.db"), "--database", join(source, name)]);
    rmSync(source, { recursive: true });
    return crashed(folder);
  },
  command: (folder) => [main, ...restoreArguments(folder)],
  async problemOf(folder) {
    const repeated = `${folder}-repeated`;
    cpSync(folder, repeated, { recursive: true });
    try {
      await runCommand(restoreArguments(repeated));
      if (!isSame(await plantsAfterStart(join(repeated, name)), restored))
        return "the same command again does not restore the backup";
      const plants = await plantsAfterSwap(join(folder, name));
      if (isSame(plants, prepared)) return undefined;
      if (!isSame(plants, restored)) return `it starts with ${plants.length} plants of neither store`;
      await goBack(folder);
      const old = await plantsAfterStart(join(folder, name));
      return isSame(old, prepared) ? undefined : "the old store is not in its folder";
    } catch (error) {
      return `it fails: ${(error as Error).message}`;
    } finally {
      rmSync(repeated, { recursive: true });
    }
  },
};

// The data file without its WAL, which the operator knows to be complete.
const acceptance: Scenario = {
  what: "restore --replace with a data file that has lost its WAL",
  async prepare(folder) {
    await crashed(folder);
    rmSync(join(folder, `${name}-wal`));
    return checkpointed;
  },
  command: (folder) => [main, ...acceptArguments(folder)],
  async problemOf(folder) {
    try {
      await runCommand(acceptArguments(folder));
      const plants = await plantsAfterStart(join(folder, name));
      return isSame(plants, checkpointed) ? undefined : `it has ${plants.length} plants`;
    } catch (error) {
      return `it fails: ${(error as Error).message}`;
    }
  },
};

// The data file that another program has put in the place of the store's own, whose WAL is still there.
const acceptanceOfReplaced: Scenario = {
  what: "restore --replace with a data file that replaced the store's own",
  async prepare(folder) {
    await crashed(folder);
    rmSync(join(folder, name));
    const other = join(folder, "other");
    mkdirSync(other);
    await closed(other, restored);
    renameSync(join(other, name), join(folder, name));
    copyFileSync(join(folder, name), join(folder, "as-it-was.db"));
    rmSync(other, { recursive: true });
    whyFailureUnrecorded(join(folder, name), "overwritten");
    return restored;
  },
  command: (folder) => [main, ...acceptArguments(folder)],
  async problemOf(folder) {
    const path = join(folder, name);
    try {
      // A start accepts it only once its store id is new: a cursor of the other store would be one of this store.
      if (readMarker(path) === undefined && storeIdOf(path) === storeIdOf(join(folder, "as-it-was.db")))
        return "it is accepted with its old store id";
      await runCommand(acceptArguments(folder));
      const plants = await plantsAfterStart(path);
      return isSame(plants, restored) ? undefined : `it has ${plants.length} plants`;
    } catch (error) {
      return `it fails: ${(error as Error).message}`;
    }
  },
};

export const scenarios: readonly Scenario[] = [...lives, replacement, acceptance, acceptanceOfReplaced];

function restoreArguments(folder: string): string[] {
  return ["restore", join(folder, "backup.db"), "--replace", "--database", join(folder, name)];
}

function acceptArguments(folder: string): string[] {
  return ["restore", join(folder, name), "--replace", "--database", join(folder, name)];
}

function storeIdOf(path: string): string | undefined {
  using database = new ImmutableDatabase(path);
  return database.query<{ id: string }, []>("SELECT id FROM store_id").get()?.id;
}

/** Restores what the last restore has moved away, as it says. */
async function goBack(folder: string): Promise<void> {
  const moved = readdirSync(folder).filter((one) => one.startsWith(`${name}.before-`));
  const old = moved.map((one) => join(folder, one, name)).find((file) => existsSync(file));
  await runCommand(["restore", old ?? "none", "--replace", "--database", join(folder, name)]);
}

/** @throws Error it failed. */
async function runCommand(args: readonly string[]): Promise<void> {
  const { code, err } = await runInProcess(args);
  if (code !== 0) throw new Error(err);
}

function isSame(one: readonly bigint[], other: readonly bigint[]): boolean {
  return one.length === other.length && idsWithout(one, other).length === 0;
}

/** Starts a store on the files; and on a copy without the WAL, which must be refused unless nothing is missing. */
async function lostPlants(folder: string, ids: readonly bigint[]): Promise<string | undefined> {
  const without = `${folder}-without-wal`;
  cpSync(folder, without, { recursive: true });
  rmSync(join(without, `${name}-wal`), { force: true });
  try {
    const missing = idsWithout(ids, await plantsAfterStart(join(folder, name)));
    if (missing.length > 0) return `the plants ${missing} are missing`;
    const unnoticed = idsWithout(ids, (await tryPlantsAfterStart(join(without, name))) ?? ids);
    return unnoticed.length > 0 ? `without its WAL it starts, and lacks the plants ${unnoticed}` : undefined;
  } catch (error) {
    return `it does not start: ${(error as Error).message}`;
  } finally {
    rmSync(without, { recursive: true });
  }
}

function idsWithout(ids: readonly bigint[], others: readonly bigint[]): bigint[] {
  const known = new Set(others);
  return ids.filter((id) => !known.has(id));
}

async function plantsAfterStart(path: string): Promise<bigint[]> {
  {
    await using _store = new SqliteStore(path);
  }
  return storedPlants(path).map(({ id }) => id);
}

/** A swap that was interrupted may leave the copy beside the old WAL, which a start refuses until it is moved away. */
async function plantsAfterSwap(path: string): Promise<bigint[]> {
  try {
    return await plantsAfterStart(path);
  } catch (error) {
    const [, command] = /belongs to another file.*`(mv .*)`/.exec((error as Error).message) ?? [];
    if (command === undefined) throw error;
    spawnSync("sh", ["-c", command]);
    return plantsAfterStart(path);
  }
}

/** Undefined if the start is refused. */
async function tryPlantsAfterStart(path: string): Promise<bigint[] | undefined> {
  try {
    return await plantsAfterStart(path);
  } catch (error) {
    // Also a checkpoint that stopped halfway leaves a file that is damaged without its WAL.
    if (error instanceof Problem) return undefined;
    throw error;
  }
}

/** A store that was started, got some plants, and was stopped. */
async function closed(folder: string, ids: readonly bigint[]): Promise<readonly bigint[]> {
  await using store = new SqliteStore(join(folder, name));
  const plants = ids.map((id) => testPlant(id, `plant ${id}`));
  await store.plants.create(plants, Date.now());
  return ids;
}

/** A store with a WAL that has its last plants. */
async function crashed(folder: string): Promise<readonly bigint[]> {
  await crashedStore(join(folder, name), prepared.length, {
    checkpointed: checkpointed.length,
    nameOf: (id) => `plant ${id}`,
  });
  return prepared;
}

interface Ended {
  readonly code: number | null;
  readonly killed: boolean;
  readonly acknowledged: readonly bigint[];
  readonly err: string;
}

/** Runs Bun, and returns how it ended and which ids it had printed by then. */
async function runKilled(args: readonly string[], environment: Record<string, string>): Promise<Ended> {
  const { child, ended } = start(process.execPath, args, { environment });
  const { code, out, err } = await ended;
  const acknowledged = out.trim().split("\n").filter(Boolean).map(BigInt);
  return { code, killed: child.signalCode === "SIGKILL", acknowledged, err };
}
