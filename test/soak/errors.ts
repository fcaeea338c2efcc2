import { join } from "node:path";
import type { Serving } from "../command.ts";
import { storedPlants } from "../harness.ts";
import { onExt4, whyNoExt4 } from "./ext4.ts";
import { Clients, judged, type Soak, serveOn } from "./rounds.ts";

const clients = 32;
const errorsMs = 1200;

/**
 * The kernel's write-back fails for a second under a loaded service. The service then starts again, first on the remaining page cache,
 * and then on what is really on the disk.
 */
export const errors: Soak = {
  summary: "makes the writes of a real ext4 fail under a loaded service; needs root on Linux",
  unit: "rounds",
  rounds: 40,
  async run({ rounds, random, tell }) {
    const problem = whyNoExt4();
    const what = "writes of the disk fail";
    if (problem !== undefined)
      return [{ what, rounds: "0", acknowledged: 0, lost: 0, note: `not run: ${problem}` }];
    const { acknowledged, lost, noticed, restarted } = await onExt4(tell, async (disk) => {
      const database = join(disk.path, "plants.db");
      let service: Serving | undefined;
      await using load = new Clients(clients, () => service?.url);
      let [lost, noticed, restarted] = [0, 0, 0];
      for (let round = 1; round <= rounds && lost === 0; round++) {
        {
          await using serving = await serveOn(database);
          service = serving;
          load.resume();
          await load.acknowledgedAgain();
          await Bun.sleep(random() * 300);
          disk.failWrites();
          await Bun.sleep(errorsMs);
          disk.allowWrites();
          await Bun.sleep(300);
          load.pause();
          if (serving.child.exitCode !== null) noticed++;
        }
        service = undefined;
        if (await startsAgain(database, tell)) {
          restarted++;
          lost += await load.lostIn(() => storedPlants(database));
        }
        await disk.remount();
        {
          await using _ = await serveOn(database);
          lost += await load.lostIn(() => storedPlants(database));
        }
        tell(`round ${round} of ${rounds}: ${load.acknowledged} acknowledged, ${lost} lost`);
      }
      return { acknowledged: load.acknowledged, lost, noticed, restarted };
    });
    const note = `noticed in ${noticed} rounds; ${restarted} starts without a new mount`;
    const figures = judged({ what, rounds: String(rounds), acknowledged, lost, note });
    const wasTried = noticed > 0 && restarted > 0;
    return [wasTried ? figures : { failure: `not tried: ${note}`, ...figures }];
  },
};

// After a journal error ext4 is read-only until it is mounted again.
async function startsAgain(database: string, tell: (line: string) => void): Promise<boolean> {
  try {
    await using _ = await serveOn(database);
    return true;
  } catch (error) {
    tell(
      `no start before the file system was mounted again: ${(error as Error).message.trim().slice(0, 200)}`,
    );
    return false;
  }
}
