import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { spawn } from "node:child_process";
import { closeSync, openSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { bareEnvironment, commandLine, start, watch } from "./command.ts";
import { eventually, temporaryFolder } from "./harness.ts";
import { lacks } from "./lacks.ts";
import { seedStore } from "./seeded-store.ts";

// It would hold every token and plant that was in memory.
test.skipIf(lacks("Linux", process.platform !== "linux"))(
  "a crash writes no core file, even if the shell allows one",
  async () => {
    using folder = temporaryFolder();
    const [command, args] = commandLine(["serve", "--database", "plants.db"]);
    const child = start("sh", ["-c", 'ulimit -c unlimited 2>&- ; exec "$@"', "sh", command, ...args], {
      folder: folder.path,
    });
    const said = watch(child);
    await eventually(() => said.err().includes('"listening"'));
    const limits = readFileSync(`/proc/${child.pid}/limits`, "utf8");
    child.kill("SIGABRT");
    await said.ended;
    expect(/^Max core file size +(\S+)/m.exec(limits)?.[1]).toBe("0");
    expect(readdirSync(folder.path).filter((name) => name.startsWith("core"))).toEqual([]);
  },
);

describe.skipIf(lacks("/dev/full", process.platform !== "linux"))(
  "a command whose output is on a full disk",
  () => {
    const folder = temporaryFolder();
    const database = join(folder.path, "plants.db");
    beforeAll(() => seedStore(database, { plants: 10, fromMs: 1, untilMs: 2 }));
    afterAll(() => folder[Symbol.dispose]());

    function startFull(args: readonly string[]) {
      const full = openSync("/dev/full", "w");
      const child = spawn(...commandLine(args), {
        env: bareEnvironment,
        stdio: ["ignore", full, "pipe"],
      });
      closeSync(full);
      return { child, ...watch(child) };
    }

    // Of each kind: a secret, a table, a stream, bytes with backpressure, and text without a store.
    test.each([
      ["token create", ["--name", "new", "--database", database]],
      ["list", ["--database", database]],
      ["export", ["--database", database]],
      ["backup", ["-", "--database", database]],
      ["help serve", []],
    ])("%s says so in one sentence, and exits with 1", async (name, args) => {
      const { code, err } = await startFull([...name.split(" "), ...args]).ended;
      expect(err).toEndWith("plant-store: standard output cannot be written: the disk is full.\n");
      expect([code, err.match(/plant-store: /g)?.length, err.includes(" at ")]).toEqual([1, 1, false]);
    });

    test("or over the limit of a file's size, says that too", async () => {
      const script = 'ulimit -f 0; exec "$@" > limited';
      const [command, args] = commandLine(["help", "serve"]);
      const { code, err } = await watch(
        start("sh", ["-c", script, "sh", command, ...args], { folder: folder.path }),
      ).ended;
      expect(code).toBe(1);
      expect(err).toEndWith(
        "plant-store: standard output cannot be written: the file would be larger than the system allows (ulimit -f).\n",
      );
    });

    test("serve logs it, goes on, and stops as usual", async () => {
      const { child, err, ended } = startFull(["serve", "--database", join(folder.path, "other.db")]);
      const warning = '"level":"warn","message":"standard output cannot be written: the disk is full."';
      await eventually(() => err().includes('"listening"') && err().includes(warning), "the warning");
      child.kill("SIGTERM");
      expect((await ended).code).toBe(0);
    });
  },
);
