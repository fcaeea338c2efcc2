import { Database } from "bun:sqlite";
import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { plantStore, serve } from "../support/command.ts";
import { storedPlants } from "../support/stored-plants.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import {
  clients,
  makeTemplate,
  plantsBefore,
  plantsInBackup,
  type Round,
  rowOf,
  succeed,
} from "./file-rounds.ts";
import { hands, loadedMsMax, rowOfHand } from "./hands.ts";
import { Clients, type Figures, type Soak, type SoakRun, serveOn } from "./rounds.ts";

// An hour at the default number of rounds.
const controlMinutesPerRound = 60 / 50;
const controlLifeMs = 120_000;

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
  if (stored !== plantsInBackup) problems.push(`${stored} plants after the mv`);
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
