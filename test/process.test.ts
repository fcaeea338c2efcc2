import { expect, test } from "bun:test";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { bareEnvironment, commandLine, start, watch } from "./command.ts";
import { eventually, temporaryFolder } from "./harness.ts";
import { lacks } from "./lacks.ts";

/** What a service writes to standard error from its start to its end, if JOURNAL_STREAM names that file or another one. */
async function logOf(named: "this" | "another", args: readonly string[]): Promise<string[]> {
  using folder = temporaryFolder();
  const log = join(folder.path, "log");
  const file = openSync(log, "w");
  const { dev, ino } = statSync(named === "this" ? log : folder.path, { bigint: true });
  const child = spawn(
    ...commandLine(["serve", "--log-level", "debug", "--database", join(folder.path, "plants.db"), ...args]),
    { env: { ...bareEnvironment, JOURNAL_STREAM: `${dev}:${ino}` }, stdio: ["ignore", "ignore", file] },
  );
  closeSync(file);
  const exited = once(child, "exit");
  await eventually(() => readFileSync(log, "utf8").includes("listening") || child.exitCode !== null);
  child.kill("SIGTERM");
  await exited;
  return readFileSync(log, "utf8").trimEnd().split("\n");
}

// Of sd-daemon(3), which journald removes from the line.
const priorities: Record<string, string> = { error: "<3>", warn: "<4>", info: "<6>", debug: "<7>" };

test("where standard error is the journal, each line has the priority of its level", async () => {
  // A listener in plain text that is not on loopback causes a warning.
  const lines = await logOf("this", ["--listen", "0.0.0.0:0"]);
  const found = lines.map((line) => {
    const [, priority = "", level = ""] = /^(<\d>)\{.*"level":"(\w+)".*\}$/.exec(line) ?? [];
    expect(priority).toBe(priorities[level] ?? "");
    return level;
  });
  expect(found).toEqual(expect.arrayContaining(["info", "warn"]));
});

test("the reason why a start failed is an error in the journal", async () => {
  const lines = await logOf("this", ["--listen", "192.0.2.1:3000"]);
  expect(lines.at(-1)).toStartWith("<3>plant-store: ");
});

test("anywhere else, no line has one", async () => {
  for (const line of await logOf("another", [])) expect(line).toStartWith("{");
});

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
