// What `npm test` promises to whoever has to find out why a test failed: an order that repeats, and a command for one test.
import { expect, test } from "bun:test";
import { spawn, spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { finished } from "../scripts/processes.js";
import { temporaryFolder } from "./support/temporary-folder.ts";

const oddTitle = `it's "odd": {"id":1}, 100 % (or $1), a\\b, [x] and 'y'\nz`;

/** A test file with twenty tests that pass, and one that fails. */
function writeTests(folder: string): string {
  const file = join(folder, "order.test.ts");
  const passing = Array.from({ length: 20 }, (_, number) => `test("number ${number}", () => {});`);
  const failing = `test(${JSON.stringify(oddTitle)}, () => expect(1).toBe(2));`;
  const neighbour = `test(${JSON.stringify(`${oddTitle} too`)}, () => {});`;
  const lines = ['import { describe, expect, test } from "bun:test";', ...passing];
  writeFileSync(file, [...lines, `describe("odd", () => { ${failing} ${neighbour} });`].join("\n"));
  return file;
}

/** Runs a line in a shell, as if someone had typed it, and returns what it printed. */
function typed(line: string): string {
  const { stdout } = spawnSync("sh", ["-c", line], {
    cwd: join(import.meta.dir, ".."),
    env: { PATH: process.env["PATH"], HOME: process.env["HOME"] },
    encoding: "utf8",
  });
  return stdout;
}

/** What `npm test` runs. npm itself takes more CPU time than such a run. */
const runTests = (args: string) => typed(`node scripts/test.js ${args}`);

const orderIn = (output: string) =>
  Array.from(output.matchAll(/^\(pass\) (number \d+)/gm), ([, title]) => title);
const seedIn = (output: string) => /^Random order, seed (\d+)$/m.exec(output)?.[1];

test("tests run in the order of a seed, which the run prints", () => {
  using folder = temporaryFolder();
  const file = writeTests(folder.path);
  const first = runTests(file);
  const again = runTests(`${file} --seed ${seedIn(first)}`);
  expect(orderIn(first)).toHaveLength(20);
  expect(orderIn(again)).toEqual(orderIn(first));
});

test("another seed is another order", () => {
  using folder = temporaryFolder();
  const file = writeTests(folder.path);
  const order = orderIn(runTests(`${file} --seed 1`));
  expect(orderIn(runTests(`${file} --seed=2`))).not.toEqual(order);
});

test("the command after a failure runs that test alone", () => {
  using folder = temporaryFolder();
  const output = runTests(writeTests(folder.path));
  const [command = ""] = output.match(/^ {2}npm test -- .* -t .*$/m) ?? [];
  expect(typed(command)).toEndWith("\n0 passed, 1 failed, 0 skipped\n");
});

test("a seed that is no number is refused", () => {
  expect(runTests("--seed eleven 2>&1")).toContain("--seed needs a number");
});

test("a flag's value that looks like a file is refused with how to write it", () => {
  const output = runTests("test/tidy.test.ts --rerun-each 20 2>&1");
  expect(output).toBe("No such file: 20\nThe value of a flag follows an equals sign: --rerun-each=20\n");
});

test("test:alone names the tests that fail alone", () => {
  using folder = temporaryFolder();
  const file = join(folder.path, "leaning.test.ts");
  const lines = ['import { expect, test } from "bun:test";', "let made = false;"];
  const maker = 'test("makes it", () => { made = true; });';
  const user = 'test("uses it", () => expect(made).toBe(true));';
  writeFileSync(file, [...lines, maker, user].join("\n"));
  const output = typed(`npm run test:alone -- ${file}`);
  expect(output).toContain(`Failed: ${file}: uses it\n`);
  expect(output).toEndWith("\n1 passed, 1 failed, 0 skipped\n");
});

test("a character whose bytes a test file prints one after the other is read as one", async () => {
  const script = String.raw`printf '\303'; sleep 0.1; printf '\274'`;
  expect(await finished(spawn("sh", ["-c", script]))).toEqual({ code: 0, output: "ü" });
});
