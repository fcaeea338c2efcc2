// What operators do by hand to the files of a store that runs.
import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync, readdirSync, readlinkSync, statSync } from "node:fs";
import { join } from "node:path";
import { eventually } from "../support/eventually.ts";
import { createStatus, statusOf } from "../support/post-plants.ts";
import { type Round, rowOf, succeed } from "./file-rounds.ts";
import type { Figures, SoakRun } from "./rounds.ts";

const noticedMsMax = 3000;
export const loadedMsMax = 1500;

export interface Hand {
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

export const hands: readonly Hand[] = [
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

/** Each must be noticed in time, and the next start has everything or is refused with a way on that works. */
export async function rowOfHand(hand: Hand, template: string, run: SoakRun): Promise<Figures> {
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
  await Bun.sleep(random() * loadedMsMax);
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
