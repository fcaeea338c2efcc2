// The process is killed at the changes of its files, one after another: nothing is lost, and nothing refused.
import { describe, expect, test } from "bun:test";
import { scenarios, sweep } from "../support/crash-points.ts";
import { lacks } from "../support/lacks.ts";
import { canRecordSyncs } from "../support/syncs.ts";

// `npm run soak -- crash-points` kills at every single change.
describe.skipIf(lacks("Linux with a C compiler, to kill at a change of a file", !canRecordSyncs))(
  "a process that is killed between two changes of its files loses nothing, and nothing is refused:",
  () => {
    test.each(scenarios.map((scenario) => [scenario.what, scenario] as const))("%s", async (_, scenario) => {
      const { kills, problems } = await sweep(scenario, 6);
      expect(problems).toEqual([]);
      expect(kills).toBeGreaterThan(3);
    });
  },
);
