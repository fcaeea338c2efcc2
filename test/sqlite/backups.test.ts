// The backup command: to a file, a folder or standard output, and its record of the last backup.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { lastBackupFile, readLastBackup } from "../../src/storage/sqlite/data-file/last-backup.ts";
import { expectOneLine, shellArguments, startOnTerminal } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";
import { lacksProgram } from "../support/lacks.ts";
import { seedStore } from "../support/seeded-store.ts";
import { storedPlants } from "../support/stored-plants.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { runInProcess } from "../support/terminal.ts";

const folder = temporaryFolder();
// A store of 3,000 plants, which no test changes. One that looks at the record of the last backup uses a copy.
const database = join(folder.path, "plants.db");
const dated = /^plants-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-\d{3}Z\.db$/;

beforeAll(() => {
  seedStore(database, { plants: 3000 });
  symlinkSync(loop, loop);
});
afterAll(() => folder[Symbol.dispose]());

const backUp = (...args: string[]) => runInProcess(["backup", ...args, "--database", database]);
const restore = (from: string, to: string, ...flags: string[]) =>
  runInProcess(["restore", from, "--database", to, ...flags]);

/** What a backup of that time leaves: the file and its checksum. */
function oldBackup(to: string, date: string): string {
  const name = `plants-${date}T00-00-00-000Z.db`;
  writeFileSync(join(to, name), "SQLite format 3\0");
  writeFileSync(join(to, `${name}.sha256`), `${"0".repeat(64)}  ${name}\n`);
  return name;
}

/** Runs `backup -` as a process whose output is redirected like that. */
function backUpToOutput(redirection: string, store: string) {
  const shell = shellArguments(`set -o pipefail; "$@" ${redirection}`, ["backup", "-", "--database", store]);
  const { status, stderr } = spawnSync("bash", shell, { encoding: "utf8" });
  return { code: status, err: stderr };
}

/** The last backup is recorded, only for its owner. */
function expectRecorded(store: string): void {
  expect(Date.now() - (readLastBackup(store)?.atMs ?? 0)).toBeLessThan(60_000);
  expect(statSync(lastBackupFile(store)).mode & 0o777).toBe(0o600);
}

describe("backup -", () => {
  test("writes to standard output what can be restored, and no other file", async () => {
    const to = folder.newFolder();
    const file = join(to, "piped.db");
    const store = folder.newCopy(database);
    const { code, err } = backUpToOutput(`> ${file}`, store);
    expect(err).toMatch(
      /^Backed up and checked 3,000 plants: standard output, .* [kM]B\.\nSHA-256 [0-9a-f]{64}\nDigest of the first 2,048 plants: [0-9a-f]{64}\n$/,
    );
    expect(code).toBe(0);
    expect(readdirSync(to)).toEqual(["piped.db"]);
    const restored = folder.newPath();
    expect((await restore(file, restored)).code).toBe(0);
    expect(storedPlants(restored)).toEqual(storedPlants(database));
    expectRecorded(store);
  });

  test("fails if its reader ends early", () => {
    const store = folder.newCopy(database);
    // Larger than the buffer of a pipe, so that it cannot be written before the reader is gone.
    const { code, err } = backUpToOutput("| true", store);
    expect(err).toContain("Standard output was closed before");
    expect(code).toBe(1);
    expect(existsSync(lastBackupFile(store))).toBe(false);
  });

  test("is refused on a terminal", async () => {
    await using command = startOnTerminal(["backup", "-", "--database", database]);
    await eventually(() => command.out().includes("Standard output is a terminal"));
    expect(await command.child.exited).toBe(2);
  });
});

describe("backup DIR", () => {
  const lacksSha256sum = lacksProgram("sha256sum");

  test.skipIf(lacksSha256sum)(
    "writes a checksum for sha256sum beside it, keeps all others, and is recorded",
    async () => {
      const to = folder.newFolder();
      const old = oldBackup(to, "2026-11-01");
      const store = folder.newCopy(database);
      const { out } = await runInProcess(["backup", to, "--json", "--database", store]);
      const { path, removed } = JSON.parse(out);
      expect(removed).toEqual([]);
      expectRecorded(store);
      expect(readdirSync(to)).toContain(old);
      expect(spawnSync("sha256sum", ["-c", `${path}.sha256`], { cwd: to }).status).toBe(0);
    },
  );

  test("--keep does not remove the new backup if the clock was set back", async () => {
    const to = folder.newFolder();
    const removed = [oldBackup(to, "2997-01-01"), oldBackup(to, "2998-01-01")];
    const { err } = await backUp(to, "--keep", "1");
    for (const name of removed) expect(err).toContain(`Removed ${join(to, name)}.`);
    expect(readdirSync(to).filter((name) => name.endsWith(".db"))).toEqual([expect.stringMatching(dated)]);
  });

  test("--keep removes none, and fails, if any other one has more plants", async () => {
    const to = folder.newFolder();
    const larger = join(to, "plants-2026-11-01T00-00-00-000Z.db");
    expect((await backUp(larger)).code).toBe(0);
    const old = oldBackup(to, "2026-11-02");
    const newer = oldBackup(to, "2026-11-03");
    const smaller = join(folder.newFolder(), "plants.db");
    seedStore(smaller, { plants: 5 });
    const { code, err } = await runInProcess(["backup", to, "--keep", "2", "--database", smaller]);
    expect(code).toBe(1);
    expect(err).toContain(
      `No old backup was deleted, since there are more plants in ${larger}. Is --database`,
    );
    const left = readdirSync(to).filter((name) => name.endsWith(".db"));
    expect(left.sort()).toEqual([basename(larger), old, newer, expect.stringMatching(dated)]);
  });
});

const loop = join(folder.path, "loop");
test.each([
  ["--json for standard output", ["-", "--json"], 2, "--json cannot be combined"],
  ["--keep for standard output", ["-", "--keep", "3"], 2, "--keep needs a folder"],
  ["--keep for a file", [database, "--keep", "3"], 2, "--keep needs a folder"],
  ["--keep 0", [folder.path, "--keep", "0"], 2, "--keep"],
  ["a missing folder", [join(folder.path, "missing"), "--keep", "3"], 1, "does not exist; create it first"],
  ["a link to itself", [loop], 1, "loop cannot be written: too many symbolic links."],
])("backup refuses %s in one line", async (_, args, code, says) => {
  const refused = await backUp(...args);
  expect(refused.err).toContain(says);
  expectOneLine(refused.err);
  expect(refused.out).toBe("");
  expect(refused.code).toBe(code);
});

test("a record of the last backup that cannot be written does not fail the backup", async () => {
  const store = folder.newCopy(database);
  const record = lastBackupFile(store);
  mkdirSync(join(record, "in the way"), { recursive: true });
  const { code, err } = await runInProcess(["backup", folder.newFolder(), "--database", store]);
  expect(err).toContain(
    `This backup could not be recorded: ${record} cannot be written: it is a directory.\n`,
  );
  expect(code).toBe(0);
});
