import { Database } from "bun:sqlite";
import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { plantStore } from "../support/command.ts";
import { storedPlants } from "../support/stored-plants.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { makeTemplate, plantsInBackup, type Row, runRow, succeed } from "./file-rounds.ts";
import { hands, loadedMsMax } from "./hands.ts";
import type { Figures, Soak } from "./rounds.ts";

// An hour at the default number of rounds.
const controlMs = 72_000;

export const files: Soak = {
  summary:
    "what operators do by hand to the files of a store, half of it under load, and an hour without false alarm",
  unit: "rounds",
  rounds: 50,
  async run(run) {
    using folder = temporaryFolder();
    await makeTemplate(folder.path);
    const figures: Figures[] = [];
    for (const row of [...hands, ...others]) figures.push(await runRow(row, folder.path, run));
    return figures;
  },
};

/** Its WAL was left, and a reader had it open in every third round. */
const copyOverCrashed: Row["work"] = async (round, random) => {
  const { folder, file, load, problems } = round;
  await round.start();
  await load.acknowledgedAgain();
  await Bun.sleep(random() * loadedMsMax);
  load.paused = true;
  await round.stop("SIGKILL");
  using reader = random() < 0.33 ? startReader(file) : undefined;
  spawnSync("cp", ["backup.db", "plants.db"], { cwd: folder });
  const wal = readFileSync(`${file}-wal`);
  const refusal = await round.refusal();
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
};

/** The folder of the store is empty, or has only the record; or an empty store was started, and the nightly backup runs. */
const unmountedDisk: Row["work"] = async (round, random) => {
  const { folder, file, problems } = round;
  const [away, backups] = [`${folder}-away`, `${folder}-backups`];
  await round.start();
  await round.load.acknowledgedAgain();
  round.load.paused = true;
  await round.stop("SIGTERM");
  mkdirSync(backups);
  const backUp = () => plantStore(["backup", backups, "--keep", "2", "--database", file]);
  await backUp();
  await backUp();
  const good = readdirSync(backups);
  renameSync(folder, away);
  mkdirSync(folder);
  const record = "plants.db.last-backup.json";
  const hasRecord = random() < 0.5;
  if (hasRecord) copyFileSync(`${away}/${record}`, `${folder}/${record}`);
  const refusal = await round.refusal(hasRecord ? {} : { PLANT_STORE_BACKUP_FOLDER: backups });
  if (refusal === "") problems.push("a store that is not mounted is begun again");
  if (existsSync(file)) problems.push("a refused start left a data file");
  rmSync(`${folder}/${record}`, { force: true });
  // Without the folder of backups nothing says that there was a store.
  await round.start();
  const { code, err } = await backUp();
  if (code !== 1) problems.push(`the backup of the empty store exits with ${code}: ${err}`);
  await round.stop("SIGTERM");
  const left = readdirSync(backups);
  if (good.some((name) => !left.includes(name))) problems.push("a good backup was deleted");
  rmSync(folder, { recursive: true });
  renameSync(away, folder);
  await round.start();
  await round.stop("SIGTERM");
  await round.expectNoneLost();
  return hasRecord ? "refused by its record" : "refused by its backups";
};

function startReader(file: string): Database {
  const reader = new Database(file, { readonly: true });
  reader.run("BEGIN");
  reader.query("SELECT count(*) FROM plants").get();
  return reader;
}

/** Everything that may happen beside a loaded service. */
const besides: readonly ((file: string, number: number) => Promise<unknown>)[] = [
  (file, number) => succeed("token", "create", "--name", `token-${number}`, "--database", file),
  (file, number) => succeed("backup", `${file}.backup-${number}`, "--database", file),
  (file) => succeed("list", "--database", file),
  async (file) => runBeside(file, "PRAGMA wal_checkpoint(PASSIVE)"),
  async (file) => runBeside(file, "PRAGMA wal_checkpoint(TRUNCATE)"),
  async (file) => runBeside(file, "VACUUM"),
  async (file) => {
    using _reader = startReader(file);
    await Bun.sleep(2000);
  },
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

const noFalseAlarm: Row["work"] = async (round, random) => {
  const running = await round.start();
  const endMs = performance.now() + controlMs;
  let events = 0;
  const act = async (): Promise<void> => {
    while (performance.now() < endMs) {
      await besides[Math.floor(random() * besides.length)]?.(round.file, events++);
      await Bun.sleep(random() * 500);
    }
  };
  await Promise.all([act(), act()]);
  const isEnded = running.child.exitCode !== null;
  if (isEnded || /overwritten|replaced|was deleted/.test(running.err()))
    throw new Error(`FALSE ALARM: ${running.err()}`);
  await round.load.acknowledgedAgain();
  round.load.paused = true;
  await round.stop("SIGTERM");
  await round.expectNoneLost();
  return "no alarm";
};

const others: readonly Row[] = [
  { what: "a backup copied over a crashed store", work: copyOverCrashed },
  { what: "a disk that is not mounted", work: unmountedDisk },
  { what: "no false alarm under load", work: noFalseAlarm },
];
