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
    `import { mkdtempSync } from "node:fs";
     import { tmpdir } from "node:os";
     import { describe, test } from "bun:test";
     import * as browser from "${import.meta.dir}/browser.ts";
     import { printIfTestFails } from "${import.meta.dir}/service-logs.ts";
     browser.test("looks", () => {});
     describe("the outer", () => test("careless", () => {
       printIfTestFails(() => "what the service logged")();
       mkdtempSync(tmpdir() + "/left-");
       throw new Error("and failed");
     }));`,
  );
  const { status, stdout } = runTests([file], { TMPDIR: folder.path });
  expect(status).toBe(1);
  expect(stdout).toMatch(/error: and failed\n\nThe services said:\nwhat the service logged\n/);
  expect(stdout).toMatch(
    /\nFailed: \S+: the outer > careless\n {2}npm test -- \S+ -t 'the outer careless'\n/,
  );
  expect(stdout).toEndWith("\nSkipped for lack of a browser.\n0 passed, 1 failed, 1 skipped\n");
  expect(readdirSync(folder.path)).toEqual(["careless.test.ts"]);
});

test("a run of a file that does not exist runs nothing, and names it", () => {
  const { status, stdout, stderr } = runTests(["test/tidy.test.ts", "test/tidi.test.ts", "-t", "x"], {});
  expect([status, stdout, stderr]).toEqual([1, "", "No such file: test/tidi.test.ts\n"]);
});
