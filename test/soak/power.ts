import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { compileSlowSync } from "../../bench/cases.ts";
import { startTestService, storedPlants, temporaryFolder } from "../harness.ts";
import { type Found, runOnExt4, whyNoExt4 } from "./ext4.ts";
import { type Figures, judged, judgedControl, notRun, type Soak, type SoakRun } from "./rounds.ts";
import { disksAfter, recordCalls } from "./simulated-disk.ts";

const controlRounds = 10;

export const power: Soak = {
  summary: "loses the power, simulated and on a real ext4, each also as a control that must lose plants",
  unit: "rounds",
  rounds: 200,
  async run(run) {
    return [...(await simulated(run)), ...(await real({ ...run, rounds: Math.ceil(run.rounds / 5) }))];
  },
};

/** Starts the service on the disks that a power loss could have left at many points of a recording. */
async function simulated({ rounds, random, tell }: SoakRun): Promise<Figures[]> {
  const what = "simulated power loss";
  if (!existsSync("/usr/bin/strace")) return [notRun(what, "it needs strace")];
  using folder = temporaryFolder();
  const calls = await recordCalls(join(folder.path, "plants.db"));
  const checkpoints = calls.filter((call) => call.kind === "write" && call.file === "").length;
  tell(`${calls.length} calls recorded, ${checkpoints} of them writes of checkpoints`);
  const path = join(folder.path, "recovered.db");
  const losses = async (cuts: number, isLying: boolean): Promise<Found> => {
    let [rounds, acknowledged, lost] = [0, 0, 0];
    for (const left of disksAfter(calls, path, { cuts, isLying, random })) {
      const names = await namesAfterStart(path, isLying);
      const missing = left.acknowledged.filter((name) => !names.has(name)).length;
      if (missing > 0 && !isLying) tell(`call ${left.at}: ${missing} acknowledged plants missing`);
      lost += missing;
      acknowledged = left.acknowledged.length;
      if (++rounds % 100 === 0) tell(`${rounds} simulated, ${acknowledged} acknowledged, ${lost} lost`);
    }
    return { rounds, acknowledged, lost };
  };
  const control = "control: the disk reports an fsync before it is done";
  return [
    judged({ what, ...(await losses(rounds, false)) }),
    judgedControl({ what: control, ...(await losses(controlRounds, true)) }),
  ];
}

/** Starts the service there, as its operator would, and returns the names of its plants. */
async function namesAfterStart(path: string, mayBeDamaged: boolean): Promise<Set<string>> {
  try {
    await using _ = await startTestService({ "operator-listen": "off" }, path);
    return new Set(storedPlants(path).map(({ name }) => name));
  } catch (error) {
    if (!mayBeDamaged) throw error;
    return new Set();
  } finally {
    for (const suffix of ["", "-wal", "-shm"]) rmSync(path + suffix, { force: true });
  }
}

/** Shuts an ext4 down under a loaded service, without writing its page cache. */
async function real(run: SoakRun): Promise<Figures[]> {
  const what = "power loss of a real ext4";
  const problem = await whyNoExt4();
  if (problem !== undefined) return [notRun(what, problem)];
  using folder = temporaryFolder();
  const withoutFsync = { LD_PRELOAD: compileSlowSync(folder.path), SYNC_US: "0" };
  const losses = (rounds: number, control?: Record<string, string>): Promise<Found> =>
    runOnExt4(
      { ...run, rounds },
      async ({ disk, load }) => {
        // Responses during the power loss prove nothing.
        load.paused = true;
        disk.losePower();
        return 0;
      },
      control,
    );
  return [
    judged({ what, ...(await losses(run.rounds)) }),
    judgedControl({
      what: "control: an fsync that does nothing",
      ...(await losses(controlRounds, withoutFsync)),
    }),
  ];
}
