// What the operating system sees of the process: core files, streams that cannot be written, a processor that is too old.
import { describe, expect, test } from "bun:test";
import { spawn } from "node:child_process";
import {
  closeSync,
  cpSync,
  fstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import {
  bareEnvironment,
  commandLine,
  launcher,
  ownProcess,
  shellArguments,
  start,
} from "../support/command.ts";
import { eventually } from "../support/eventually.ts";
import { lacks } from "../support/lacks.ts";
import { seedStore } from "../support/seeded-store.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

// It would hold every token and plant that was in memory.
test.skipIf(lacks("Linux", process.platform !== "linux"))(
  "a crash writes no core file, even if the shell allows one",
  async () => {
    using folder = temporaryFolder();
    const serve = ["serve", "--database", "plants.db"];
    const shell = shellArguments('ulimit -c unlimited 2>&- ; exec "$@"', serve);
    await using service = start("sh", shell, { folder: folder.path });
    await eventually(() => service.err().includes('"listening"'));
    const limits = readFileSync(`/proc/${service.child.pid}/limits`, "utf8");
    service.child.kill("SIGABRT");
    await service.ended;
    expect(/^Max core file size +(\S+)/m.exec(limits)?.[1]).toBe("0");
    expect(readdirSync(folder.path).filter((name) => name.startsWith("core"))).toEqual([]);
  },
);

const lacksFullDevice = lacks("/dev/full", process.platform !== "linux");

/** Starts a command whose standard output is a full disk. */
function startFull(args: readonly string[]) {
  const full = openSync("/dev/full", "w");
  const child = spawn(...commandLine(args), { env: bareEnvironment, stdio: ["ignore", full, "pipe"] });
  closeSync(full);
  return ownProcess(child);
}

test.skipIf(lacksFullDevice)(
  "a command whose output is on a full disk fails with one sentence that says so",
  async () => {
    using folder = temporaryFolder();
    const file = folder.newPath();
    seedStore(file, { plants: 10 });
    // Of each kind: text without a store, a secret, a table, a stream, and bytes with backpressure.
    const commands = [
      "help serve",
      ...["token create --name new", "list", "export", "backup -"].map(
        (line) => `${line} --database ${file}`,
      ),
    ];
    for (const line of commands) {
      const { code, err } = await startFull(line.split(" ")).ended;
      expect(err).toEndWith("plant-store: Standard output cannot be written: the disk is full.\n");
      expect({ line, code }).toEqual({ line, code: 1 });
      expect(err.match(/plant-store: /g)).toHaveLength(1);
      expect(err).not.toContain(" at ");
    }
  },
);

test.skipIf(lacksFullDevice)(
  "serve goes on with a warning if its output is on a full disk, until it is stopped",
  async () => {
    using folder = temporaryFolder();
    await using service = startFull(["serve", "--database", folder.newPath()]);
    const warning = '"level":"warn","message":"Standard output cannot be written: the disk is full."';
    await eventually(() => service.err().includes('"listening"') && service.err().includes(warning));
    expect(service.child.exitCode).toBeNull();
    service.child.kill("SIGTERM");
    expect((await service.ended).code).toBe(0);
  },
);

test("a command whose output is over the limit of a file's size says so", async () => {
  using folder = temporaryFolder();
  const shell = shellArguments('ulimit -f 0; exec "$@" > limited', ["help", "serve"]);
  const { code, err } = await start("sh", shell, { folder: folder.path }).ended;
  expect(code).toBe(1);
  expect(err).toEndWith(
    "plant-store: Standard output cannot be written: the file would be larger than the system allows (ulimit -f).\n",
  );
});

test("the launcher says what is wrong if the processor lacks instructions that Bun needs", async () => {
  using folder = temporaryFolder();
  const { platform, arch } = process;
  const bun = join(folder.path, `node_modules/@oven/bun-${platform}-${arch === "arm64" ? "aarch64" : arch}`);
  cpSync(dirname(launcher), join(folder.path, "bin"), { recursive: true });
  mkdirSync(join(bun, "bin"), { recursive: true });
  writeFileSync(join(bun, "package.json"), "{}");
  // What the kernel does to a program at the first instruction that it does not know.
  writeFileSync(join(bun, "bin/bun"), "#!/bin/sh\nkill -ILL $$\n", { mode: 0o755 });
  const { code, err } = await start("node", [join(folder.path, "bin/plant-store.js"), "version"]).ended;
  expect(err).toContain("AVX2");
  expect(code).toBe(132);
});

describe("a command whose standard error may be journald's", () => {
  /** Runs it with its standard error in a file, as the stream of a journal, and JOURNAL_STREAM as that function says. */
  async function errOf(args: readonly string[], journalStream: (dev: bigint, ino: bigint) => string) {
    using folder = temporaryFolder();
    const path = join(folder.path, "stderr");
    const file = openSync(path, "w");
    const { dev, ino } = fstatSync(file, { bigint: true });
    const environment = {
      ...bareEnvironment,
      JOURNAL_STREAM: journalStream(dev, ino),
      PLANT_STORE_TYPO: "1",
    };
    await using command = ownProcess(
      spawn(...commandLine(args), {
        cwd: folder.path,
        env: environment,
        stdio: ["ignore", "ignore", file],
      }),
    );
    closeSync(file);
    const { child, ended } = command;
    await eventually(() => child.exitCode !== null || readFileSync(path, "utf8").includes('"listening"'));
    child.kill("SIGTERM");
    await ended;
    return readFileSync(path, "utf8");
  }
  const exact = (dev: bigint, ino: bigint) => `${dev}:${ino}`;

  test("starts each line of its log with the priority", async () => {
    const log = await errOf(["serve"], exact);
    expect(log).toMatch(/^<4>\{.*"level":"warn".*PLANT_STORE_TYPO/m);
    expect(log).toMatch(/^<6>\{.*"message":"listening"/m);
    expect(log).not.toMatch(/^[^<]/m);
  });

  test("starts an error message with its priority if JOURNAL_STREAM names exactly that stream", async () => {
    const startOf = async (journalStream: (dev: bigint, ino: bigint) => string) =>
      (await errOf(["list"], journalStream)).slice(0, "<3>plant".length);
    expect({
      exact: await startOf(exact),
      "another inode": await startOf((dev, ino) => `${dev}:${ino + 1n}`),
      "another device": await startOf((dev, ino) => `${dev + 1n}:${ino}`),
      spaces: await startOf((dev, ino) => ` ${dev}:${ino} `),
      nothing: await startOf(() => ""),
    }).toEqual({
      exact: "<3>plant",
      "another inode": "plant-st",
      "another device": "plant-st",
      spaces: "plant-st",
      nothing: "plant-st",
    });
  });
});
