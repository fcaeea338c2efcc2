import { storedPlants } from "../support/stored-plants.ts";
import { runOnExt4, whyNoExt4 } from "./ext4.ts";
import { judged, notRun, type Soak, serveOn } from "./rounds.ts";

const errorsMs = 1200;

/**
 * The kernel's write-back fails for a second under a loaded service. The service then starts again, first on the remaining page
 * cache, and then on what is really on the disk.
 */
export const errors: Soak = {
  summary: "makes the writes of a real ext4 fail under a loaded service; needs root on Linux",
  unit: "rounds",
  rounds: 40,
  async run(run) {
    const what = "writes of the disk fail";
    const problem = await whyNoExt4();
    if (problem !== undefined) return [notRun(what, problem)];
    let noticed = 0;
    let restarted = 0;
    const found = await runOnExt4(run, async ({ disk, database, serving, load }) => {
      disk.failWrites();
      await Bun.sleep(errorsMs);
      disk.allowWrites();
      await Bun.sleep(300);
      load.paused = true;
      if (serving.child.exitCode !== null) noticed++;
      await serving[Symbol.asyncDispose]();
      // After a journal error ext4 is read-only until it is mounted again.
      await using again = await serveOn(database).catch(({ message }: Error) => {
        run.tell(`no start before a new mount: ${message.trim().slice(0, 200)}`);
        return undefined;
      });
      if (again === undefined) return 0;
      restarted++;
      return await load.lostIn(() => storedPlants(database));
    });
    const note = `noticed in ${noticed} rounds; ${restarted} starts without a new mount`;
    const figures = judged({ what, ...found, note });
    const wasTried = noticed > 0 && restarted > 0;
    return [wasTried ? figures : { failure: `not tried: ${note}`, ...figures }];
  },
};
