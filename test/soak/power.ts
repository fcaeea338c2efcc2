import { existsSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { buildShim } from "../support/shims.ts";
import { storedPlants } from "../support/stored-plants.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { startTestService } from "../support/test-service.ts";
import { type Found, type Loaded, type OnExt4, runOnExt4, whyNoExt4 } from "./ext4.ts";
import { type Figures, judged, judgedControl, notRun, type Soak, type SoakRun } from "./rounds.ts";
import { type Breakage, type Call, disksAfter, recordCalls } from "./simulated-disk.ts";

const controlRounds = 10;
// Enough for the WAL to be checkpointed meanwhile, by the checkpoint thread.
const plants = 12_000;
// With slow fsyncs the recording takes longer.
const plantsSlowly = 6000;
// Four times what makes the service fsync in the background.
const slowFsync = { SYNC_DELAY_US: "4000" };
const slowly = ", with fsyncs of 4 ms";

export const power: Soak = {
  summary: "loses the power, simulated and on a real ext4, each also as controls that must lose plants",
  unit: "rounds",
  rounds: 200,
  async run(run) {
    return [...(await simulated(run)), ...(await real({ ...run, rounds: Math.ceil(run.rounds / 5) }))];
  },
};

/** Starts the service on the disks that a power loss could have left at many points of a recording. */
async function simulated(run: SoakRun): Promise<Figures[]> {
  const what = "simulated power loss";
  if (!existsSync("/usr/bin/strace")) return [notRun(what, "it needs strace")];
  using folder = temporaryFolder();
  const LD_PRELOAD = buildShim("power-syncs", folder.path);
  const fast = await recordCalls(join(folder.path, "fast.db"), {
    environment: {},
    hasReader: true,
    plants,
  });
  tellCalls(fast, run);
  // Its second start recovers the WAL into the data file, and empties it.
  const slow = await recordCalls(join(folder.path, "slow.db"), {
    environment: { LD_PRELOAD, ...slowFsync },
    hasReader: false,
    plants: plantsSlowly,
  });
  tellCalls(slow, run);
  const path = join(folder.path, "recovered.db");
  const losses = (calls: readonly Call[]) =>
    lossesOf(calls, path, { ...run, rounds: Math.ceil(run.rounds / 2) });
  const control = (calls: readonly Call[], breakage: Breakage) =>
    lossesOf(calls, path, { ...run, rounds: controlRounds }, breakage);
  return [
    judged({ what, ...(await losses(fast)) }),
    judged({ what: what + slowly, ...(await losses(slow)) }),
    judgedControl({
      what: "control: the disk reports an fsync before it is done",
      ...(await control(fast, "early fsyncs")),
    }),
    judgedControl({
      what: "control: an fsync in the background is acknowledged before it is done",
      ...(await control(slow, "early background fsyncs")),
    }),
    judgedControl({
      what: "control: a start after a crash skips its fsyncs",
      ...(await control(slow, "no fsync at the start")),
    }),
  ];
}

function tellCalls(calls: readonly Call[], { tell }: SoakRun): void {
  const checkpoints = calls.filter((call) => call.kind === "write" && call.file === "").length;
  const background = calls.filter(
    (call) => call.kind === "sync" && call.isBackground && call.file === "-wal",
  );
  tell(
    `${calls.length} calls recorded, ${checkpoints} of them writes of checkpoints, ${background.length} fsyncs of the WAL in the background`,
  );
}

async function lossesOf(
  calls: readonly Call[],
  path: string,
  { rounds: cuts, random, tell }: SoakRun,
  breakage?: Breakage,
): Promise<Found> {
  let rounds = 0;
  let acknowledged = 0;
  let lost = 0;
  for (const left of disksAfter(calls, path, { cuts, breakage, random })) {
    const names = await namesAfterStart(path, breakage !== undefined);
    const missing = left.acknowledged.filter((name) => !names.has(name)).length;
    if (missing > 0 && breakage === undefined)
      tell(`call ${left.at}: ${missing} acknowledged plants missing`);
    lost += missing;
    acknowledged = left.acknowledged.length;
    rounds++;
    if (rounds % 100 === 0) tell(`${rounds} simulated, ${acknowledged} acknowledged, ${lost} lost`);
  }
  return { rounds, acknowledged, lost };
}

/** Starts the service there, as its operator would, and returns the names of its plants. */
async function namesAfterStart(path: string, mayBeDamaged: boolean): Promise<Set<string>> {
  try {
    await using _ = await startTestService({ "operator-listen": "off", database: path });
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
  const withoutFsync = { LD_PRELOAD: buildShim("slow-sync", folder.path), SYNC_US: "0" };
  const LD_PRELOAD = buildShim("power-syncs", folder.path);
  const slow = { LD_PRELOAD, ...slowFsync };
  const half = { ...run, rounds: Math.ceil(run.rounds / 2) };
  // Every second round kills the service, starts it again, and lets the clients retry, before it loses the power.
  const losePower = async ({ disk, load, round, restart }: Loaded): Promise<number> => {
    if (round % 2 === 0) await restart({});
    return loseNow({ disk, load });
  };
  const losses = (environment: Record<string, string>): Promise<Found> =>
    runOnExt4(half, losePower, { environment: () => environment });
  const control = (
    harm: (loaded: Loaded) => Promise<number>,
    environment: OnExt4["environment"] = () => ({}),
  ): Promise<Found> => runOnExt4({ ...run, rounds: controlRounds }, harm, { environment, isControl: true });
  const skippingStart = async ({ disk, load, round, restart }: Loaded): Promise<number> => {
    const listening = join(folder.path, `listening-${round}`);
    await restart({ LD_PRELOAD, SKIP_UNTIL: listening }, () => writeFileSync(listening, ""));
    return loseNow({ disk, load });
  };
  return [
    judged({ what, ...(await losses({})) }),
    judged({ what: what + slowly, ...(await losses(slow)) }),
    judgedControl({
      what: "control: an fsync that does nothing",
      ...(await control(
        async (loaded) => loseNow(loaded),
        () => withoutFsync,
      )),
    }),
    judgedControl({
      what: "control: an fsync in the background that does nothing",
      ...(await control(
        async (loaded) => loseNow(loaded),
        () => ({ ...slow, SKIP_BACKGROUND: "1" }),
      )),
    }),
    judgedControl({
      what: "control: a start on a real ext4 that skips its fsyncs",
      ...(await control(skippingStart)),
    }),
  ];
}

function loseNow({ disk, load }: Pick<Loaded, "disk" | "load">): number {
  // Responses during the power loss prove nothing.
  load.paused = true;
  disk.losePower();
  return 0;
}
