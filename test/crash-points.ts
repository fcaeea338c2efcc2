import { spawn } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { DataFileProblem } from "../src/storage/sqlite/data-file-problem.ts";
import { writeMarker } from "../src/storage/sqlite/failure-marker.ts";
import { SqliteStore } from "../src/storage/sqlite/sqlite-store.ts";
import { bareEnvironment, watch } from "./command.ts";
import { crashedStore } from "./crashed-store.ts";
import { storedPlants, temporaryFolder } from "./harness.ts";
import { buildShim } from "./syncs.ts";

/** What a process does that is killed at each of its changes of a file, and what must hold then. */
export interface Scenario {
  readonly what: string;
  /** Puts the files there that the process starts with. Returns the ids of the plants in them. */
  prepare(folder: string): Promise<readonly bigint[]>;
  /** What Bun runs. */
  command(folder: string): readonly string[];
  /** What is wrong in the folder of a process that was killed; undefined if nothing is. `ids`: of the acknowledged plants. */
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

const shortLife = fileURLToPath(new URL("./fixtures/short-life.ts", import.meta.url));
const name = "plants.db";
// So many that the next ones, and their entries in the index, go to pages that are there already, after the page with the mark. Then a
// data file that lacks the last pages of a checkpoint looks sound.
const prepared = Array.from({ length: 1000 }, (_, index) => BigInt(index + 1));
// As many processes at a time as the machines of the tests have cores.
const processesMax = 2;

/**
 * Runs the process once for every `stride`-th change of a file that it makes, each time with fresh files, and kills it right before
 * that change.
 */
export async function sweep(scenario: Scenario, stride: number): Promise<Swept> {
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
  const { killed, err } = await run(whole, 0);
  if (killed || err !== "") throw new Error(`${scenario.what}: ${err}`);
  const changes = readFileSync(`${whole}.changes`, "utf8").trim().split("\n");

  const points = Array.from({ length: changes.length }, (_, index) => index + 1);
  const chosen = points.filter((point) => point % stride === 0);
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

/** A new store: its start, three plants and its stop. */
const firstLife: Scenario = {
  what: "a new store, from its start to its stop",
  prepare: async () => [],
  command: (folder) => [shortLife, join(folder, name), "1", "3"],
  problemOf: lostPlants,
};

const secondLife: Scenario = {
  what: "a closed store, from its start to its stop",
  prepare: closed,
  command: (folder) => [shortLife, join(folder, name), "1001", "1003"],
  problemOf: lostPlants,
};

const recovery: Scenario = {
  what: "a store that was killed, from its start to its stop",
  prepare: crashed,
  command: (folder) => [shortLife, join(folder, name), "1001", "1001"],
  problemOf: lostPlants,
};

const rebuild: Scenario = {
  what: "a store whose fsync failed, from its start to its stop",
  async prepare(folder) {
    const ids = await crashed(folder);
    writeMarker(join(folder, name), "sync-failed");
    return ids;
  },
  command: (folder) => [shortLife, join(folder, name), "1001", "1001"],
  problemOf: lostPlants,
};

export const scenarios: readonly Scenario[] = [firstLife, secondLife, recovery, rebuild];

/** Starts a store on the files; and on a copy without the WAL, which must be refused unless nothing is missing. */
async function lostPlants(folder: string, ids: readonly bigint[]): Promise<string | undefined> {
  const without = `${folder}-without-wal`;
  cpSync(folder, without, { recursive: true });
  rmSync(join(without, `${name}-wal`), { force: true });
  try {
    const missing = missingIn(ids, await plantsAfterStart(join(folder, name)));
    if (missing.length > 0) return `the plants ${missing} are missing`;
    const unnoticed = missingIn(ids, (await tryPlantsAfterStart(join(without, name))) ?? ids);
    return unnoticed.length > 0 ? `without its WAL it starts, and lacks the plants ${unnoticed}` : undefined;
  } catch (error) {
    return `it does not start: ${(error as Error).message}`;
  } finally {
    rmSync(without, { recursive: true });
  }
}

function missingIn(ids: readonly bigint[], stored: readonly bigint[]): bigint[] {
  return ids.filter((id) => !stored.includes(id));
}

async function plantsAfterStart(path: string): Promise<bigint[]> {
  {
    await using _store = new SqliteStore(path);
  }
  return storedPlants(path).map(({ id }) => id);
}

/** Undefined if the start is refused. */
async function tryPlantsAfterStart(path: string): Promise<bigint[] | undefined> {
  try {
    return await plantsAfterStart(path);
  } catch (error) {
    // Also a checkpoint that stopped halfway leaves a file that is damaged without its WAL.
    if (error instanceof DataFileProblem) return undefined;
    throw error;
  }
}

/** A store that was started, got some plants, and was stopped. */
async function closed(folder: string): Promise<bigint[]> {
  await using store = new SqliteStore(join(folder, name));
  const arrivals = prepared.map((id) => ({
    plant: { id, name: `plant ${id}`, tag: "prepared" },
    createdBy: "crash-points",
  }));
  await store.plants.create(arrivals, Date.now());
  return prepared;
}

/** A store with a WAL that has its last plants. */
async function crashed(folder: string): Promise<bigint[]> {
  await crashedStore(join(folder, name), prepared.length, {
    checkpointed: prepared.length - 5,
    nameOf: (id) => `plant ${id}`,
  });
  return prepared;
}

/** Runs Bun, and returns how it ended and which ids it had printed by then. */
async function runKilled(
  args: readonly string[],
  environment: Record<string, string>,
): Promise<{ readonly killed: boolean; readonly acknowledged: bigint[]; readonly err: string }> {
  const child = spawn(process.execPath, args, {
    env: { ...bareEnvironment, ...environment },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const { ended, out, err } = watch(child);
  await ended;
  const acknowledged = out().trim().split("\n").filter(Boolean).map(BigInt);
  return { killed: child.signalCode === "SIGKILL", acknowledged, err: err() };
}
