import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { executable } from "./command.ts";
import { temporaryFolder } from "./harness.ts";
import { lacks } from "./lacks.ts";
import { asUser } from "./postgres-files.ts";
import { runInProcess } from "./terminal.ts";

const main = fileURLToPath(new URL("../src/main.ts", import.meta.url));
const [command, ...first] = executable === undefined ? [process.execPath, main] : [executable];

/** As a user whom permissions concern: root is none. */
function runAsUser(args: readonly string[]): { code: number | null; out: string; err: string } {
  const options = { ...asUser, cwd: "/", env: { HOME: "/" }, encoding: "utf8" } as const;
  const { status, stdout, stderr } = spawnSync(command ?? "", [...first, ...args], options);
  return { code: status, out: stdout, err: stderr };
}

// In a checkout below a folder that is only root's, no other user can run it.
const canRun = runAsUser(["version"]).code === 0;

describe.skipIf(lacks("root", !canRun))("a user who may not enter the data folder", () => {
  const folder = temporaryFolder();
  const closed = join(folder.path, "closed");
  const file = join(closed, "plants.db");

  beforeAll(async () => {
    chmodSync(folder.path, 0o755);
    mkdirSync(closed);
    await runInProcess(["token", "create", "--name", "a", "--database", file]);
    chmodSync(closed, 0);
  });
  afterAll(() => {
    chmodSync(closed, 0o700);
    folder[Symbol.dispose]();
  });

  for (const args of [["list"], ["token", "create", "--name", "b"], ["verify"]])
    test(`${args.slice(0, 2).join(" ")} reports that, and names the file`, () => {
      expect(runAsUser([...args, "--database", file])).toEqual({
        code: 1,
        out: "",
        err: `plant-store: ${file} cannot be opened: permission denied. The folder ${closed} belongs to uid ${process.getuid?.()}: change its owner with chown, or run this as that user.\n`,
      });
    });

  test("restore reports that of a backup", () => {
    const { code, err } = runAsUser(["restore", file, "--database", join(folder.path, "new.db")]);
    expect([code, err]).toEqual([1, expect.stringContaining(`${file} cannot be opened: permission denied.`)]);
  });

  test("doctor runs all its checks, and fails", () => {
    const { code, out, err } = runAsUser(["doctor", "--json", "--database", file]);
    expect([code, err]).toEqual([1, ""]);
    // Without USER, as in a container.
    expect(out).toMatch(/uid-\d+ may not write to/);
    const { findings } = JSON.parse(out) as {
      findings: { check: string; outcome: string; message: string }[];
    };
    expect(findings).toContainEqual(
      expect.objectContaining({
        check: "data file",
        outcome: "fail",
        message: expect.stringContaining("permission denied"),
      }),
    );
    expect(findings).toContainEqual(expect.objectContaining({ check: "folder", outcome: "fail" }));
  });
});
