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

/** Starts a command whose standard output is a full disk. */
function startFull(args: readonly string[]) {
  const full = openSync("/dev/full", "w");
  const child = spawn(...commandLine(args), { env: bareEnvironment, stdio: ["ignore", full, "pipe"] });
  closeSync(full);
  return ownProcess(child);
}

describe.skipIf(lacks("/dev/full", process.platform !== "linux"))("if its output is on a full disk", () => {
  // Of each kind: text without a store, a secret, a table, a stream, and bytes with backpressure.
  test.each([
    "help serve",
    "token create --name new --database STORE",
    "list --database STORE",
    "export --database STORE",
    "backup - --database STORE",
  ])("%s fails with one sentence that says so", async (line) => {
    using folder = temporaryFolder();
    const file = folder.newPath();
    seedStore(file, { plants: 10 });
    const { code, err } = await startFull(line.replace("STORE", file).split(" ")).ended;
    expect(code).toBe(1);
    expect(err).toEndWith("plant-store: Standard output cannot be written: the disk is full.\n");
    expect(err.match(/plant-store: /g)).toHaveLength(1);
    expect(err).not.toContain(" at ");
  });

  test("serve goes on with a warning, until it is stopped", async () => {
    using folder = temporaryFolder();
    await using service = startFull(["serve", "--database", folder.newPath()]);
    const warning = '"level":"warn","message":"Standard output cannot be written: the disk is full."';
    await eventually(() => service.err().includes('"listening"') && service.err().includes(warning));
    expect(service.child.exitCode).toBeNull();
    service.child.kill("SIGTERM");
    expect((await service.ended).code).toBe(0);
  });
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

test.each([
  ["exactly its stream", (dev: bigint, ino: bigint) => `${dev}:${ino}`, "<3>plant-store: There is"],
  ["another inode", (dev: bigint, ino: bigint) => `${dev}:${ino + 1n}`, "plant-store: There is"],
  ["another device", (dev: bigint, ino: bigint) => `${dev + 1n}:${ino}`, "plant-store: There is"],
  ["nothing", () => "", "plant-store: There is"],
])("an error has its priority if JOURNAL_STREAM names %s, or none", async (_, journalStream, expected) => {
  expect(await writtenToJournal(["list"], journalStream)).toStartWith(expected);
});

test("each line of a log has its priority if journald reads it", async () => {
  const log = await writtenToJournal(["serve"], (dev, ino) => `${dev}:${ino}`);
  expect(log).toMatch(/^<4>\{.*"level":"warn".*PLANT_STORE_TYPO/m);
  expect(log).toMatch(/^<6>\{.*"message":"listening"/m);
  expect(log).not.toMatch(/^[^<]/m);
});

/** What a command writes to standard error, a file in place of a journal, if that function makes its JOURNAL_STREAM. */
async function writtenToJournal(
  args: readonly string[],
  journalStream: (dev: bigint, ino: bigint) => string,
) {
  using folder = temporaryFolder();
  const path = join(folder.path, "stderr");
  const file = openSync(path, "w");
  const { dev, ino } = fstatSync(file, { bigint: true });
  const env = { ...bareEnvironment, JOURNAL_STREAM: journalStream(dev, ino), PLANT_STORE_TYPO: "1" };
  const stdio = ["ignore", "ignore", file] as const;
  await using command = ownProcess(spawn(...commandLine(args), { cwd: folder.path, env, stdio: [...stdio] }));
  closeSync(file);
  const { child, ended } = command;
  await eventually(() => child.exitCode !== null || readFileSync(path, "utf8").includes('"listening"'));
  child.kill("SIGTERM");
  await ended;
  return readFileSync(path, "utf8");
}
