// Runs every mutant of test/mutants/mutants.json.
import { expect, test } from "bun:test";
import { readMutants, survivors } from "../mutants/mutants.ts";

test("the tests notice every mutant; npm run mutants says more", async () => {
  expect(await survivors(readMutants(), 1)).toEqual([]);
}, 3_600_000);
