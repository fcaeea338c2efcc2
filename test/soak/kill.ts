import { copyFileSync } from "node:fs";
import { join } from "node:path";
import type { Serving } from "../support/command.ts";
import { storedPlants } from "../support/stored-plants.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { Clients, type Figures, judged, type Soak, type SoakRun, serveOn } from "./rounds.ts";

const clients = 32;
const loadedMsMax = 240;

export const kill: Soak = {
  summary: "kills a loaded service with -9 again and again",
  unit: "rounds",
  rounds: 200,
  run: async (run) => [await runKillRounds(run)],
};

/**
 * Loads a service, kills it and starts it again. Each start must checkpoint the WAL of the killed service before its first
 * response, so the comparison reads the data file without its WAL.
 */
export async function runKillRounds({ rounds, random, tell }: SoakRun): Promise<Figures> {
  using folder = temporaryFolder();
  const database = join(folder.path, "plants.db");
  let service: Serving | undefined;
  await using load = new Clients(clients, () => service?.url);
  for (let round = 1; round <= rounds; round++) {
    await using serving = await serveOn(database);
    service = serving;
    await load.acknowledgedAgain();
    await Bun.sleep(random() * loadedMsMax);
    serving.child.kill("SIGKILL");
    await serving.ended;
    service = undefined;
    tell(`round ${round} of ${rounds}: ${load.acknowledged} acknowledged so far`);
  }
  await load.stop();
  await using _ = await serveOn(database);
  const withoutWal = join(folder.path, "copy.db");
  copyFileSync(database, withoutWal);
  const lost = await load.lostIn(() => storedPlants(withoutWal));
  return judged({ what: "kill -9 of the service", rounds, acknowledged: load.acknowledged, lost });
}
