// Rounds in which something happens to the files of a store, each with fresh copies of the same one.
import { copyFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { SqliteStore } from "../../src/storage/sqlite/sqlite-store.ts";
import { plantStore, type Serving } from "../support/command.ts";
import { type PlantRow, storedPlants, testPlants } from "../support/stored-plants.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { Clients, type Figures, type SoakRun, serveOn } from "./rounds.ts";

export const clients = 16;
// Enough for a few hundred KiB, so that whatever happens to the file changes pages.
export const plantsBefore = 3000;
export const plantsInBackup = plantsBefore - 100;
const idsBefore = Array.from({ length: plantsBefore }, (_, index) => index + 1);

/** A closed store with a backup, and a copy of it from before the last plants were created. */
export async function makeTemplate(folder: string): Promise<void> {
  const file = join(folder, "plants.db");
  const create = async (ids: readonly number[]): Promise<void> => {
    await using store = new SqliteStore(file);
    await store.plants.create(testPlants(ids), Date.now());
  };
  await create(idsBefore.slice(0, plantsInBackup));
  copyFileSync(file, join(folder, "earlier.db"));
  await succeed("backup", join(folder, "backup.db"), "--database", file);
  await create(idsBefore.slice(plantsInBackup));
}

/** What one round had, and what was wrong in it. */
export interface Round {
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
export async function rowOf(
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

/** Of a file that is malformed, none. */
function readPlants(file: string): PlantRow[] {
  try {
    return storedPlants(file);
  } catch {
    return [];
  }
}

export async function succeed(...args: readonly string[]): Promise<void> {
  const { code, err } = await plantStore(args);
  if (code !== 0) throw new Error(`${args[0]} exits with ${code}: ${err}`);
}
