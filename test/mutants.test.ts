import { expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { temporaryFolder } from "./harness.ts";
import { type Mutant, mutate, readMutants, root, survivors } from "./mutants/mutants.ts";

test("there are 60 mutants, eight in each module that keeps a promise, and each has its line and its tests", () => {
  const mutants = readMutants();
  expect(mutants.length).toBeGreaterThanOrEqual(60);
  for (const module of ["storage", "plants", "http", "access", "files", "operator"])
    expect(mutants.filter(({ file }) => file.startsWith(`src/${module}/`)).length).toBeGreaterThanOrEqual(8);
  for (const mutant of mutants) {
    expect(mutate(readFileSync(join(root, mutant.file), "utf8"), mutant)).not.toBeEmpty();
    expect(mutant.replacement).not.toBe(mutant.text);
    expect(mutant.tests.filter((file) => !existsSync(join(root, file)))).toEqual([]);
    expect(mutant.tests).not.toBeEmpty();
  }
});

const mutant: Mutant = { file: "src/a.ts", text: "1", replacement: "2", tests: ["a.test.ts"] };

test.each([
  ["never", "const b = 0;"],
  ["twice", "const b = 1 + 1;"],
])("a text that is found %s is an error", (_, source) => {
  expect(() => mutate(source, mutant)).toThrow("src/a.ts");
});

test("a mutant survives if the tests pass with it, and the tree itself is never changed", async () => {
  using folder = temporaryFolder();
  spawnSync("git", ["init", "-q"], { cwd: folder.path });
  mkdirSync(join(folder.path, "src"));
  mkdirSync(join(folder.path, "node_modules"));
  const file = join(folder.path, mutant.file);
  writeFileSync(file, "const b = 1; // $& 3");
  const unnoticed = { ...mutant, text: "3", replacement: "$&" };
  const seen: string[] = [];
  const passes = async (copy: string): Promise<boolean> => {
    const source = readFileSync(join(copy, mutant.file), "utf8");
    seen.push(source);
    return source.includes("b = 1");
  };
  const options = { root: folder.path, workers: 1, passes };
  expect(await survivors([mutant, unnoticed], options)).toEqual([unnoticed]);
  expect(seen).toEqual(["const b = 1; // $& 3", "const b = 2; // $& 3", "const b = 1; // $& $&"]);
  expect(readFileSync(file, "utf8")).toBe("const b = 1; // $& 3");
  const failing = survivors([mutant], { ...options, passes: async () => false });
  expect(failing).rejects.toThrow("The tests fail without any mutant");
});
