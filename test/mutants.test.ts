// The list of mutants, which `npm run mutants` runs, is long enough and fits the source.
import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { mutate, readMutants, root } from "./mutants/mutants.ts";

const mutants = readMutants();

test("there are at least 60 mutants", () => {
  expect(mutants.length).toBeGreaterThanOrEqual(60);
});

test.each(["storage", "plants", "http", "access", "files", "operator"])(
  "at least eight mutants are in %s, which keeps a promise",
  (module) => {
    const inModule = mutants.filter(({ file }) => file.startsWith(`src/${module}/`));
    expect(inModule.length).toBeGreaterThanOrEqual(8);
  },
);

test.each(mutants)("a mutant changes what $file has once: $text", (mutant) => {
  expect(mutate(mutant)).not.toBeEmpty();
  expect(mutant.replacement).not.toBe(mutant.text);
});

const testsByFile = new Map(mutants.map(({ file, tests }) => [file, tests]));

test.each([...testsByFile])("the tests that should notice the mutants of %s exist", (_, tests) => {
  expect(tests).not.toBeEmpty();
  expect(tests.filter((file) => !existsSync(join(root, file)))).toEqual([]);
});
