// Runs every mutant of test/mutants/mutants.json.
import { expect, test } from "bun:test";
import { hourMs } from "../../src/text/duration.ts";
import { readMutants, survivors } from "../mutants/mutants.ts";

test(
  "the tests notice every mutant",
  async () => {
    expect(await survivors(readMutants(), 1)).toEqual([]);
  },
  hourMs,
);
