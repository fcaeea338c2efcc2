import { expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { temporaryFolder } from "./harness.ts";

const runner = join(import.meta.dir, "../scripts/test.js");

test("what a test leaves in the temporary directory is removed after the run, even if it fails", () => {
  using folder = temporaryFolder();
  writeFileSync(
    join(folder.path, "careless.test.ts"),
    `import { mkdtempSync, statSync } from "node:fs";
     import { tmpdir } from "node:os";
     import { test } from "bun:test";
     test("careless", () => {
       console.log("left", mkdtempSync(tmpdir() + "/left-"), (statSync(tmpdir()).mode & 0o7777).toString(8));
       throw new Error("and failed");
     });`,
  );
  const args = [runner, "one", join(folder.path, "careless.test.ts")];
  const { status, stdout } = spawnSync("node", args, {
    encoding: "utf8",
    env: { PATH: process.env["PATH"], TMPDIR: folder.path },
  });
  const [, left = "", mode] = /^left (\S+) (\S+)$/m.exec(stdout) ?? [];
  expect(status).toBe(1);
  expect(left).toStartWith(`${folder.path}/ps-`);
  // PostgreSQL's user must get at it, and the path of a socket in it must fit into about 100 bytes.
  expect([mode, left.length - folder.path.length]).toEqual(["1777", "/ps-XXXXXX/left-XXXXXX".length]);
  expect(readdirSync(folder.path)).toEqual(["careless.test.ts"]);
});
