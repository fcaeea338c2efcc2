// The list of mutants, which `npm run mutants` runs, is long enough and fits the source.
import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { mutate, readMutants, root } from "./mutants/mutants.ts";

test("there are 60 mutants, eight in each module that keeps a promise, and each has its line and its tests", () => {
  const mutants = readMutants();
  expect(mutants.length).toBeGreaterThanOrEqual(60);
  for (const module of ["storage", "plants", "http", "access", "files", "operator"])
    expect(mutants.filter(({ file }) => file.startsWith(`src/${module}/`)).length).toBeGreaterThanOrEqual(8);
  for (const mutant of mutants) {
    expect(mutate(mutant)).not.toBeEmpty();
    expect(mutant.replacement).not.toBe(mutant.text);
    expect(mutant.tests.filter((file) => !existsSync(join(root, file)))).toEqual([]);
    expect(mutant.tests).not.toBeEmpty();
  }
});
