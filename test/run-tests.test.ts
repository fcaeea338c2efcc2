import { expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { temporaryFolder } from "./harness.ts";

function runTests(args: readonly string[], environment: Record<string, string>) {
  const runner = join(import.meta.dir, "../scripts/test.js");
  return spawnSync("node", [runner, ...args], {
    encoding: "utf8",
    env: { PATH: process.env["PATH"], CHROMIUM: "none", ...environment },
  });
}

test("a run prints the log of a failed test and how to repeat it, what was skipped and why, and removes what is left", () => {
  using folder = temporaryFolder();
  const file = join(folder.path, "careless.test.ts");
  writeFileSync(
    file,
    `import { mkdtempSync, statSync } from "node:fs";
     import { tmpdir } from "node:os";
     import { describe, test } from "bun:test";
     import * as browser from "${import.meta.dir}/browser.ts";
     import { printIfTestFails } from "${import.meta.dir}/service-logs.ts";
     browser.test("looks", () => {});
     describe("the outer", () => describe("inner", () => test("careless", () => {
       printIfTestFails(() => "what the service logged")();
       console.log("left", mkdtempSync(tmpdir() + "/left-"), (statSync(tmpdir()).mode & 0o7777).toString(8));
       throw new Error("and failed");
     })));`,
  );
  const { status, stdout } = runTests([file], { TMPDIR: folder.path });
  expect(status).toBe(1);
  expect(stdout).toMatch(/error: and failed\n\nThe services said:\nwhat the service logged\n/);
  const end =
    /\nFailed: \S+: the outer > inner > careless\n {2}npm test -- \S+ -t 'the outer inner careless'\n/;
  expect(stdout).toMatch(end);
  expect(stdout).toEndWith("\nSkipped for lack of a browser.\n0 passed, 1 failed, 1 skipped\n");
  const [, left = "", mode] = /^left (\S+) (\S+)$/m.exec(stdout) ?? [];
  expect(left).toStartWith(`${folder.path}/ps-`);
  // PostgreSQL's user must get at it, and the path of a socket in it must fit into about 100 bytes.
  expect([mode, left.length - folder.path.length]).toEqual(["1777", "/ps-XXXXXX/left-XXXXXX".length]);
  expect(readdirSync(folder.path)).toEqual(["careless.test.ts"]);
});

test("a run of a file that does not exist runs nothing, and names it", () => {
  const { status, stdout, stderr } = runTests(["test/tidy.test.ts", "test/tidi.test.ts", "-t", "x"], {});
  expect([status, stdout, stderr]).toEqual([1, "", "No such file: test/tidi.test.ts\n"]);
});

test("under CI, a run without a browser fails immediately", () => {
  const { status, stdout, stderr } = runTests([], { CI: "true" });
  const said = expect.stringContaining("There is no browser for the tests (CHROMIUM=none), and under CI");
  expect([status, stdout, stderr]).toEqual([1, "", said]);
});
