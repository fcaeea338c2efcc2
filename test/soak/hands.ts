// What operators do by hand to the files of a store that runs.
import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync, statSync } from "node:fs";
import { join } from "node:path";
import { eventually } from "../support/eventually.ts";
import { createStatus, statusOf } from "../support/post-plants.ts";
import { rescue } from "../support/rescue.ts";
import { notNoticed, type Round, type Row, succeed } from "./file-rounds.ts";

const noticedMsMax = 3000;
export const loadedMsMax = 1500;

interface Hand {
  readonly what: string;
  /** Run in the folder of the store, beside a backup, a closed copy of an earlier run, and a raw copy made while it runs. */
  readonly script: string;
  readonly share?: number;
  /** Only the process still has the files, and they can be copied from it. */
  readonly canBeRescued?: true;
  /** The process ends. */
  readonly ends?: true;
}

const all: readonly Hand[] = [
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
export const hands: readonly Row[] = all.map((hand) => ({
  ...hand,
  async work(round, random, isUnderLoad) {
    const { folder, file, load, problems } = round;
    const running = await round.start();
    const raw = join(folder, "raw.db");
    copyFileSync(file, raw);
    if (random() < 0.8) await load.acknowledgedAgain();
    await Bun.sleep(random() * loadedMsMax);
    const isLonger = () => statSync(file).size > statSync(raw).size;
    if (hand.script.includes("raw.db")) await eventually(isLonger, "a checkpoint that lengthens the file");
    load.paused = !isUnderLoad;
    await Bun.sleep(random() * loadedMsMax);
    spawnSync("sh", ["-c", hand.script], { cwd: folder });

    const sinceMs = performance.now();
    const isReady = async () => (await statusOf(running.url, "/readyz").catch(() => 0)) === 200;
    while (performance.now() - sinceMs < noticedMsMax && (await isReady())) await Bun.sleep(20);
    const tookMs = performance.now() - sinceMs;
    const isNoticed = tookMs < noticedMsMax;
    if (isNoticed) round.noticedMs = tookMs;
    const isCreated = (await createStatus(running.url, -1).catch(() => 0)) === 200;
    if (isNoticed && isCreated) problems.push("a plant was acknowledged after it was noticed");
    if (hand.ends) await running.ended;
    else await Bun.sleep(100);
    if (isNoticed && !hand.ends && running.child.exitCode !== null)
      problems.push("it ended, before anyone could copy its files");
    if (hand.canBeRescued) rescue(running.child.pid ?? 0, file, join(folder, "rescued.db"));
    load.paused = true;
    await round.stop(random() < 0.5 ? "SIGKILL" : "SIGTERM");

    const isRefused = (await round.refusal()) !== "";
    if (isRefused) await restoreAny(round);
    if (isRefused ? hand.canBeRescued : isNoticed) await round.expectNoneLost();
    if (!isNoticed) return notNoticed;
    return isRefused ? "refused and restored" : "recovered";
  },
}));

/** Restores the rescued files, or a backup, and starts the service. */
async function restoreAny(round: Round): Promise<void> {
  const found = ["rescued.db", "backup.db", "earlier.db"].map((name) => join(round.folder, name));
  await succeed("restore", found.find(existsSync) ?? "", "--replace", "--database", round.file);
  await round.start();
}
