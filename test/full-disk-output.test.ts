import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { spawn, spawnSync } from "node:child_process";
import { closeSync, openSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { commands } from "../src/cli/run.ts";
import { bareEnvironment, executable, watch } from "./command.ts";
import {
  accessToken,
  eventually,
  post,
  startTestService,
  type TestService,
  temporaryFolder,
} from "./harness.ts";
import { runInProcess } from "./terminal.ts";

const main = fileURLToPath(new URL("../src/main.ts", import.meta.url));
const [command = "", ...first] = executable === undefined ? [process.execPath, main] : [executable];

// Linux has a device that is always full.
describe.skipIf(process.platform !== "linux")("a command whose output is on a full disk", () => {
  const folder = temporaryFolder();
  const database = join(folder.path, "plants.db");
  const backup = join(folder.path, "backup.db");
  const plants = join(folder.path, "plants.ndjson");
  let service: TestService;
  beforeAll(async () => {
    service = await startTestService({}, database);
    await post(service.url, '{"id":1,"name":"Fern"}');
    for (const name of ["rotated", "revoked"])
      await runInProcess(["token", "create", "--name", name, "--database", database]);
    await runInProcess(["backup", backup, "--database", database]);
    writeFileSync(plants, '{"id":1,"name":"Fern"}\n');
  });
  afterAll(async () => {
    await service[Symbol.asyncDispose]();
    folder[Symbol.dispose]();
  });

  // Every command, with the arguments that make it print.
  const lines: Record<string, (() => string[]) | undefined> = {
    "token create": () => ["--name", "new", "--database", database],
    "token list": () => ["--database", database],
    "token rotate": () => ["rotated", "--database", database],
    "token revoke": () => ["revoked", "--json", "--database", database],
    audit: () => ["--database", database],
    list: () => ["--database", database],
    show: () => ["1", "--database", database],
    export: () => ["--database", database],
    import: () => [plants, "--json", "--url", service.url],
    backup: () => ["-", "--database", database],
    restore: () => [backup, "--json", "--database", join(folder.path, "restored.db")],
    verify: () => ["--json", "--database", database],
    copy: () => ["--from", database, "--to", join(folder.path, "copied.db"), "--json"],
    config: () => [],
    doctor: () => ["--database", database],
    version: () => [],
    "help serve": () => [],
  };

  function argumentsOf(name: string): string[] {
    return [...first, ...name.split(" "), ...(lines[name]?.() ?? [])];
  }

  /** Starts a command whose output is on a full disk. */
  function startFull(args: readonly string[]) {
    const env = { ...bareEnvironment, PLANT_STORE_ACCESS_TOKEN: accessToken };
    const full = openSync("/dev/full", "w");
    const child = spawn(command, args, { env, stdio: ["ignore", full, "pipe"] });
    closeSync(full);
    return { child, ...watch(child) };
  }

  test("is one of these, serve, or ready, which prints only messages", () => {
    const { "help serve": _, ...listed } = lines;
    expect([...Object.keys(listed), "serve", "ready"].sort()).toEqual(Object.keys(commands).sort());
  });

  for (const name of Object.keys(lines))
    test(`${name} says so in one sentence, and exits with 1`, async () => {
      const { code, err } = await startFull(argumentsOf(name)).ended;
      expect(err).toEndWith("plant-store: standard output cannot be written: the disk is full.\n");
      expect([code, err.match(/plant-store: /g)?.length, err.includes(" at ")]).toEqual([1, 1, false]);
    });

  test("serve logs it, goes on, and stops as usual", async () => {
    const { child, err, ended } = startFull([...first, "serve", "--database", join(folder.path, "other.db")]);
    const warning = '"level":"warn","message":"standard output cannot be written: the disk is full."';
    await eventually(() => err().includes('"listening"') && err().includes(warning), 60_000);
    child.kill("SIGTERM");
    expect((await ended).code).toBe(0);
  });

  for (const name of ["list", "export", "help serve", "token list"])
    test(`${name} says nothing about a reader that is gone`, () => {
      const line = 'set -o pipefail; "$0" "$@" | true';
      const options = { env: bareEnvironment, encoding: "utf8" } as const;
      const { status, stderr } = spawnSync("bash", ["-c", line, command, ...argumentsOf(name)], options);
      expect([status, stderr]).toEqual([0, ""]);
    });
});
