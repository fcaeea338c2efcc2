import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { compileSlowSync } from "../../bench/cases.ts";
import type { Serving } from "../command.ts";
import { startTestService, storedPlants, temporaryFolder } from "../harness.ts";
import { type Ext4, onExt4, whyNoExt4 } from "./ext4.ts";
import { Clients, type Figures, judged, judgedControl, type Soak, type SoakRun, serveOn } from "./rounds.ts";
import { type Call, disksAfter, recordCalls } from "./simulated-disk.ts";

const clients = 32;
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
  if (!existsSync("/usr/bin/strace"))
    return [{ what, rounds: "0", acknowledged: 0, lost: 0, note: "not run: it needs strace" }];
  using folder = temporaryFolder();
  const calls = await recordCalls(join(folder.path, "plants.db"));
  const checkpoints = calls.filter((call) => call.kind === "write" && !call.file.endsWith("-wal")).length;
  tell(`${calls.length} calls recorded, ${checkpoints} of them writes of checkpoints`);
  const path = join(folder.path, "recovered.db");
  const losses = async (count: number, isLying: boolean): Promise<Omit<Figures, "what">> => {
    let [lost, checked, acknowledged] = [0, 0, 0];
    for (const left of disksAfter(calls as readonly Call[], { cuts: count, isLying, random })) {
      left.writeTo(path);
      const names = await namesAfterStart(path, isLying);
      const missing = left.acknowledged.filter((name) => !names.has(name)).length;
      if (missing > 0 && !isLying) tell(`call ${left.at}: ${missing} acknowledged plants missing`);
      lost += missing;
      acknowledged = left.acknowledged.length;
      if (++checked % 100 === 0) tell(`${checked} simulated, ${acknowledged} acknowledged, ${lost} lost`);
    }
    return { rounds: String(checked), acknowledged, lost };
  };
  return [
    judged({ what, ...(await losses(rounds, false)) }),
    judgedControl({
      what: "control: the disk reports an fsync before it is done",
      ...(await losses(controlRounds, true)),
    }),
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
async function real({ rounds, random, tell }: SoakRun): Promise<Figures[]> {
  const what = "power loss of a real ext4";
  const problem = whyNoExt4();
  if (problem !== undefined)
    return [{ what, rounds: "0", acknowledged: 0, lost: 0, note: `not run: ${problem}` }];
  using folder = temporaryFolder();
  const withoutFsync = { LD_PRELOAD: compileSlowSync(folder.path), SYNC_US: "0" };
  const losses = (count: number, isControl: boolean): Promise<Omit<Figures, "what">> => {
    const lose = async (disk: Ext4) => {
      const database = join(disk.path, "plants.db");
      let service: Serving | undefined;
      await using load = new Clients(clients, () => service?.url);
      let [lost, round] = [0, 0];
      while (round < count && lost === 0) {
        {
          await using serving = await serveOn(database, isControl ? withoutFsync : {});
          service = serving;
          load.resume();
          await load.acknowledgedAgain();
          await Bun.sleep(random() * 400);
          // Responses during the power loss prove nothing.
          load.pause();
          disk.losePower();
        }
        service = undefined;
        await disk.remount();
        lost = await lostOn(database, load);
        tell(`round ${++round} of ${count}: ${load.acknowledged} acknowledged, ${lost} lost`);
      }
      return { rounds: String(round), acknowledged: load.acknowledged, lost };
    };
    return onExt4(tell, lose, isControl);
  };
  return [
    judged({ what, ...(await losses(rounds, false)) }),
    judgedControl({
      what: "control: an fsync that does nothing",
      ...(await losses(controlRounds, true)),
    }),
  ];
}

/** Where the service does not start, all is lost. */
async function lostOn(database: string, load: Clients): Promise<number> {
  try {
    await using _ = await serveOn(database);
    return await load.lostIn(() => storedPlants(database));
  } catch (error) {
    console.error(error);
    return load.acknowledged;
  }
}
