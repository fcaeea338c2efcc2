import { scenarios, sweep } from "../support/crash-points.ts";
import { canRecordSyncs } from "../support/syncs.ts";
import { type Figures, notRun, type Soak } from "./rounds.ts";

export const crashPoints: Soak = {
  summary: "kills a process right before each single change of a file, one run for each",
  unit: "rounds",
  rounds: 1,
  async run({ rounds, tell }) {
    if (!canRecordSyncs)
      return [notRun("kill before each change of a file", "it needs Linux and a C compiler")];
    const figures: Figures[] = [];
    for (const scenario of scenarios) {
      let kills = 0;
      let acknowledged = 0;
      const problems: string[] = [];
      for (let round = 1; round <= rounds; round++) {
        const swept = await sweep(scenario);
        kills += swept.kills;
        acknowledged += swept.acknowledged;
        problems.push(...swept.problems);
        tell(`${scenario.what}: ${kills} kills, ${problems.length} problems`);
      }
      for (const problem of problems) tell(problem);
      const failure = problems.length > 0 ? "STORES ARE LOST OR REFUSED" : undefined;
      figures.push({
        what: `kill before each change of a file: ${scenario.what}`,
        rounds: kills,
        acknowledged,
        lost: problems.length,
        ...(failure !== undefined && { failure }),
      });
    }
    return figures;
  },
};
