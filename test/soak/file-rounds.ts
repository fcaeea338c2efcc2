// Rounds in which something happens to the files of a store, each with fresh copies of the same one.
import { copyFileSync, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { SqliteStore } from "../../src/storage/sqlite/sqlite-store.ts";
import { plantStore, type Serving } from "../support/command.ts";
import { storedPlants, testPlants } from "../support/stored-plants.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { Clients, type Figures, type SoakRun, serveOn } from "./rounds.ts";

// Enough for a few hundred KiB, so that whatever happens to the file changes pages.
const plantsBefore = 3000;
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

/** Copies of the template in a folder, the service once it is started, and its clients. */
export class Round implements AsyncDisposable {
  readonly #own = temporaryFolder();
  readonly folder = join(this.#own.path, "data");
  readonly file = join(this.folder, "plants.db");
  #serving: Serving | undefined;
  readonly load = new Clients(16, () => this.#serving?.url);
  /** What was wrong. */
  readonly problems: string[] = [];
  lost = 0;
  /** How long it took the service to notice what happened. */
  noticedMs = 0;

  constructor(template: string) {
    mkdirSync(this.folder);
    for (const name of readdirSync(template)) copyFileSync(join(template, name), join(this.folder, name));
  }

  async start(environment: Record<string, string> = {}): Promise<Serving> {
    this.#serving = await serveOn(this.file, environment);
    return this.#serving;
  }

  /** Starts the service; returns why that is refused, or "". */
  async refusal(environment: Record<string, string> = {}): Promise<string> {
    return this.start(environment).then(
      () => "",
      ({ message }: Error) => message,
    );
  }

  async stop(signal: NodeJS.Signals): Promise<void> {
    this.#serving?.child.kill(signal);
    await this.#serving?.ended;
    this.#serving = undefined;
  }

  async expectNoneLost(): Promise<void> {
    const stored = storedPlants(this.file);
    const ids = new Set(stored.map(({ id }) => Number(id)));
    this.lost = (await this.load.lostIn(() => stored)) + idsBefore.filter((id) => !ids.has(id)).length;
    if (this.lost > 0) this.problems.push(`${this.lost} acknowledged plants are lost without a word`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop("SIGKILL");
    await this.load.stop();
    this.#own[Symbol.dispose]();
  }
}

export interface Row {
  readonly what: string;
  /** Returns what is counted. Every second round is under load to its end. */
  readonly work: (round: Round, random: () => number, isUnderLoad: boolean) => Promise<string>;
  /** How many of the rounds must not be `notNoticed`; all by default. */
  readonly share?: number;
}

export const notNoticed = "not noticed";

export async function runRow(
  row: Row,
  template: string,
  { rounds, random, tell }: SoakRun,
): Promise<Figures> {
  const counts = new Map<string, number>();
  const problems: string[] = [];
  let [acknowledged, lost, noticedMs] = [0, 0, 0];
  for (let number = 1; number <= rounds; number++) {
    await using round = new Round(template);
    const outcome = await row.work(round, random, number % 2 === 0).catch(({ message }: Error) => {
      round.problems.push(message.trim().slice(-500));
      return "failed";
    });
    counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
    acknowledged += round.load.acknowledged;
    lost += round.lost;
    noticedMs = Math.max(noticedMs, round.noticedMs);
    problems.push(...round.problems.map((problem) => `round ${number}: ${problem}`));
  }
  const missed = counts.get(notNoticed) ?? 0;
  if (missed > rounds * (1 - (row.share ?? 1))) problems.push(`NOT NOTICED in ${missed} rounds`);
  const outcomes = Array.from(counts, ([outcome, count]) => `${outcome}: ${count}`).join("; ");
  const note = noticedMs === 0 ? outcomes : `${outcomes}; noticed in at most ${Math.round(noticedMs)} ms`;
  tell(`${row.what}: ${[note, ...problems].join("\n")}`);
  const figures = { what: row.what, rounds, acknowledged, lost, note };
  return problems.length === 0 ? figures : { ...figures, failure: problems.join("\n") };
}

export async function succeed(...args: readonly string[]): Promise<void> {
  const { code, err } = await plantStore(args);
  if (code !== 0) throw new Error(`${args[0]} exits with ${code}: ${err}`);
}
