import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import {
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { backupRecordFile, readLastBackup, recordBackup } from "../src/storage/sqlite/maintenance/backup.ts";
import { BackupFolder } from "../src/storage/sqlite/maintenance/backup-folder.ts";
import { operatorToken, startTestService, storedPlants, temporaryFolder } from "./harness.ts";
import { lacks } from "./lacks.ts";
import { seedStore } from "./seeded-store.ts";
import { runInProcess } from "./terminal.ts";

const folder = temporaryFolder();
const database = join(folder.path, "plants.db");
const main = fileURLToPath(new URL("../src/main.ts", import.meta.url));
const pageBytes = 4096;
const dated = /^plants-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-\d{3}Z\.db$/;

beforeAll(() => seedStore(database, { plants: 3000, fromMs: 1_700_000_000_000, untilMs: 1_700_100_000_000 }));
afterAll(() => folder[Symbol.dispose]());

let folders = 0;
function newFolder(): string {
  const path = join(folder.path, `backups-${++folders}`);
  mkdirSync(path);
  return path;
}

function backUp(...args: string[]) {
  return runInProcess(["backup", ...args, "--database", database]);
}

/** What a backup of that day leaves: the file and its checksum. */
function oldBackup(inFolder: string, day: string): string {
  const name = `plants-2026-11-${day}T00-00-00-000Z.db`;
  writeFileSync(join(inFolder, name), "SQLite format 3\0");
  writeFileSync(join(inFolder, `${name}.sha256`), `${"0".repeat(64)}  ${name}\n`);
  return name;
}

/** Runs `backup -` with its output in a file, and returns what it wrote. */
function backUpToOutput(file: string, environment: Record<string, string> = {}) {
  const { status, stderr } = spawnSync(
    "sh",
    [
      "-c",
      'umask 077; exec "$0" "$1" backup - --database "$2" > "$3"',
      process.execPath,
      main,
      database,
      file,
    ],
    { encoding: "utf8", env: { PATH: process.env["PATH"] ?? "", ...environment } },
  );
  return { code: status, err: stderr };
}

describe("backup -", () => {
  test("writes a backup that can be restored to standard output, and nothing else", async () => {
    const file = join(folder.path, "piped.db");
    const { code, err } = backUpToOutput(file);
    expect([code, err]).toEqual([
      0,
      expect.stringMatching(
        /^Backed up and checked 3,000 plants: standard output, .* [kM]B\.\nSHA-256 [0-9a-f]{64}\n$/,
      ),
    ]);
    const digest = spawnSync("sha256sum", [file], { encoding: "utf8" }).stdout.slice(0, 64);
    expect(err).toContain(digest);
    const restored = join(folder.path, "restored.db");
    expect((await runInProcess(["restore", file, "--database", restored])).code).toBe(0);
    expect(storedPlants(restored)).toEqual(storedPlants(database));
    expect(readdirSync(folder.path).filter((name) => name.includes("partial"))).toEqual([]);
  });

  test("fails if its reader ends early, and what that reader has cannot be restored", async () => {
    rmSync(backupRecordFile(database), { force: true });
    // Larger than the buffer of a pipe, so that it cannot be written before the reader is gone.
    const line = `set -o pipefail; "${process.execPath}" "${main}" backup - --database "${database}" | true`;
    const { status, stderr } = spawnSync("bash", ["-c", line], { encoding: "utf8" });
    expect([status, stderr]).toEqual([1, expect.stringContaining("Standard output was closed before")]);
    expect(existsSync(backupRecordFile(database))).toBe(false);
    const whole = join(folder.path, "whole.db");
    backUpToOutput(whole);
    const bytes = readFileSync(whole);
    // Within the last page, which SQLite does not notice.
    const cut = join(folder.path, "cut.db");
    writeFileSync(cut, bytes.subarray(0, bytes.length - pageBytes / 2));
    const target = join(folder.path, "from-cut.db");
    expect(await runInProcess(["restore", cut, "--database", target])).toMatchObject({
      code: 1,
      err: expect.stringMatching(/is damaged: it has \d+ of \d+ bytes/),
    });
    expect(existsSync(target)).toBe(false);
  });

  const hasScript = spawnSync("script", ["--version"]).status === 0;
  test.skipIf(lacks("script", !hasScript))("is refused on a terminal", () => {
    const line = [process.execPath, main, "backup", "-", "--database", database].join(" ");
    const { status, stdout } = spawnSync("script", ["-qec", line, "/dev/null"], { encoding: "utf8" });
    expect([status, stdout]).toEqual([2, expect.stringContaining("standard output is a terminal")]);
  });

  test("is refused with flags that need standard output or a folder", async () => {
    expect(await backUp("-", "--json")).toMatchObject({ code: 2, out: "" });
    expect(await backUp("-", "--keep", "3")).toMatchObject({ code: 2, out: "" });
  });
});

describe("backup DIR", () => {
  test("writes a dated file with its checksum, and keeps all without --keep", async () => {
    const to = newFolder();
    const old = oldBackup(to, "01");
    const { code, out } = await backUp(to, "--json");
    const { path, removed } = JSON.parse(out);
    expect([code, removed, dated.test(path.slice(to.length + 1))]).toEqual([0, [], true]);
    expect(existsSync(join(to, old))).toBe(true);
    expect(spawnSync("sha256sum", ["-c", `${path}.sha256`], { cwd: to }).status).toBe(0);
  });

  test("--keep removes the oldest backups beyond that number, and no file of someone else", async () => {
    const to = newFolder();
    const old = ["01", "02", "03", "04"].map((day) => oldBackup(to, day));
    const others = [
      "notes.txt",
      "plants.db",
      "plants-2026.db",
      "plants-2026-10-01T00-00-00-000Z.db.gz",
      "plants-2026-10-01T00-00-00-000Z.db",
      "other-2026-10-01T00-00-00-000Z.db",
      "xplants-2026-10-01T00-00-00-000Z.db",
      "plants-2026-10-02T00-00-00-000Z.db.partial",
      "plants-2026-10-03T00-00-00-000Z.db.sha256",
    ];
    for (const name of others) writeFileSync(join(to, name), "not ours");
    mkdirSync(join(to, "plants-2026-10-04T00-00-00-000Z.db"));
    symlinkSync("notes.txt", join(to, "plants-2026-10-05T00-00-00-000Z.db"));
    const { code, err } = await backUp(to, "--keep", "3");
    expect(code).toBe(0);
    const left = readdirSync(to);
    expect(left).toEqual(expect.arrayContaining([...others, "plants-2026-10-04T00-00-00-000Z.db"]));
    expect(left).toContain("plants-2026-10-05T00-00-00-000Z.db");
    expect(old.filter((name) => left.includes(name))).toEqual(old.slice(2));
    for (const name of old.slice(0, 2)) {
      expect(left).not.toContain(`${name}.sha256`);
      expect(err).toContain(`Removed ${join(to, name)}.`);
    }
  });

  test("a backup with the oldest name, after the clock was set back, is not removed", async () => {
    const to = newFolder();
    for (const year of ["2997", "2998"]) {
      const name = `plants-${year}-01-01T00-00-00-000Z.db`;
      writeFileSync(join(to, name), "");
      writeFileSync(join(to, `${name}.sha256`), `${"0".repeat(64)}  ${name}\n`);
    }
    const { out } = await backUp(to, "--keep", "1", "--json");
    expect(readdirSync(to).filter((name) => name.endsWith(".db"))).toEqual([
      JSON.parse(out).path.slice(to.length + 1),
    ]);
  });

  test("removes nothing if the new backup is damaged", async () => {
    const to = newFolder();
    const old = ["01", "02"].map((day) => oldBackup(to, day));
    const bad = join(folder.path, "bad");
    mkdirSync(bad);
    const bytes = readFileSync(database);
    for (let at = 40 * pageBytes; at < bytes.length; at += 10 * pageBytes)
      bytes.fill(0x41, at, at + pageBytes / 2);
    writeFileSync(join(bad, "plants.db"), bytes);
    const { code } = await runInProcess(["backup", to, "--keep", "1", "--database", join(bad, "plants.db")]);
    expect(code).toBe(1);
    expect(
      readdirSync(to)
        .filter((name) => name.endsWith(".db"))
        .sort(),
    ).toEqual(old);
  });

  test("removes what interrupted backups left, even one killed before its last step", async () => {
    const to = newFolder();
    const name = "plants-2026-11-01T00-00-00-000Z.db";
    writeFileSync(join(to, `${name}.partial`), "SQLite format 3\0 and so on");
    writeFileSync(join(to, `${name}.partial-journal`), "");
    writeFileSync(join(to, `${name}.sha256`), `${"0".repeat(64)}  ${name}\n`);
    const complete = oldBackup(to, "02");
    linkSync(join(to, complete), join(to, `${complete}.partial`));
    expect((await backUp(to, "--keep", "5")).code).toBe(0);
    const left = readdirSync(to).filter((each) => each.endsWith(".db") || each.includes(".partial"));
    expect(left.sort()).toEqual([complete, expect.stringMatching(dated)]);
    expect(existsSync(join(to, `${name}.sha256`))).toBe(false);
  });

  test("is refused while another one runs in the same folder", async () => {
    const to = newFolder();
    using _running = new BackupFolder(database, to);
    expect(await backUp(to)).toMatchObject({ code: 1, err: expect.stringContaining("Another backup of") });
  });

  test("refuses a --keep that means nothing, in one sentence", async () => {
    const to = newFolder();
    for (const keep of ["0", "seven"]) {
      const { code, err } = await backUp(to, "--keep", keep);
      expect([keep, code, err.trimEnd().split("\n").length]).toEqual([keep, 2, 1]);
    }
    expect(await backUp(database, "--keep", "3")).toMatchObject({
      code: 2,
      err: expect.stringContaining("--keep needs a folder"),
    });
    expect(await backUp(join(to, "missing"), "--keep", "3")).toMatchObject({
      code: 1,
      err: expect.stringContaining("does not exist; create it first"),
    });
    expect(readdirSync(to)).toEqual([]);
  });
});

describe("restore", () => {
  const changed = join(folder.path, "changed.db");
  const restoreChanged = (name: string, ...flags: string[]) =>
    runInProcess(["restore", changed, "--database", join(folder.path, name), ...flags]);

  // In a name, where SQLite's integrity check finds nothing wrong.
  beforeAll(async () => {
    expect((await backUp(changed)).code).toBe(0);
    const bytes = readFileSync(changed);
    bytes.write("x", bytes.indexOf("Calathea"));
    writeFileSync(changed, bytes);
  });

  test("refuses a backup that does not match its checksum", async () => {
    expect(await restoreChanged("refused.db")).toMatchObject({
      code: 1,
      err: expect.stringContaining(`does not match its checksum in ${changed}.sha256`),
    });
    expect(existsSync(join(folder.path, "refused.db"))).toBe(false);
  });

  test("says that the content of a backup without its checksum was not checked", async () => {
    renameSync(`${changed}.sha256`, `${changed}.sha256.elsewhere`);
    const warning = `plant-store: ${changed}.sha256 is missing, so only the structure of ${changed} was checked, not its content. To check both, put that file beside the backup and restore again.\n`;
    const { code, err } = await restoreChanged("unchecked.db");
    expect([code, err]).toEqual([0, expect.stringMatching(/^Restored 3,000 plants: /)]);
    expect(err).toEndWith(warning);
    const json = await restoreChanged("unchecked-2.db", "--json", "--quiet");
    expect([JSON.parse(json.out).checksummed, json.err]).toEqual([false, warning]);
  });

  test("reports that a backup with its checksum was checked", async () => {
    const [sound, to] = [join(folder.path, "unchanged.db"), join(folder.path, "checked.db")];
    expect((await backUp(sound)).code).toBe(0);
    expect(await runInProcess(["restore", sound, "--database", to])).toMatchObject({
      code: 0,
      err: expect.stringMatching(/^Restored and checked 3,000 plants: .*\nSHA-256 [0-9a-f]{64}\n$/),
    });
  });
});

describe("the record of the last backup", () => {
  test("is written by every kind of backup, only for its owner, and removed by a restore", async () => {
    rmSync(backupRecordFile(database), { force: true });
    expect(await readLastBackup(database)).toBeUndefined();
    const fromMs = Date.now();
    const single = join(folder.path, "single.db");
    const modes: number[] = [];
    for (const make of [
      () => backUp(single),
      () => backUp(newFolder()),
      async () => backUpToOutput(join(folder.path, "again.db")),
    ]) {
      rmSync(backupRecordFile(database), { force: true });
      expect((await make()).code).toBe(0);
      expect((await readLastBackup(database))?.atMs).toBeGreaterThanOrEqual(fromMs);
      modes.push(statSync(backupRecordFile(database)).mode & 0o777);
    }
    expect(modes).toEqual([0o600, 0o600, 0o600]);
    const restored = join(folder.path, "restored-again.db");
    writeFileSync(backupRecordFile(restored), readFileSync(backupRecordFile(database)));
    expect((await runInProcess(["restore", single, "--database", restored])).code).toBe(0);
    expect(await readLastBackup(restored)).toBeUndefined();
  });

  test("is in the overview and in the metrics of a running service", async () => {
    await using running = await startTestService();
    const headers = { Authorization: `Bearer ${operatorToken}` };
    const read = async () => {
      const get = async (path: string) => fetch(running.operatorUrl + path, { headers });
      const { store } = (await (await get("/api/overview")).json()) as { store: { lastBackupAt: unknown } };
      const text = await (await get("/metrics")).text();
      const seconds = /^plant_store_last_backup_timestamp_seconds (\S+)$/m.exec(text)?.[1];
      return { at: store.lastBackupAt, seconds: seconds && Number(seconds) };
    };
    expect(await read()).toEqual({ at: null, seconds: undefined });
    const atMs = 1_763_200_000_123;
    recordBackup(running.database, atMs, { plants: 1, sha256: "0" });
    expect(await read()).toEqual({ at: new Date(atMs).toISOString(), seconds: atMs / 1000 });
  });

  test("that cannot be written does not fail the backup", async () => {
    const record = backupRecordFile(database);
    rmSync(record, { force: true });
    mkdirSync(join(record, "in the way"), { recursive: true });
    expect(await backUp(newFolder())).toMatchObject({
      code: 0,
      err: expect.stringContaining("could not be recorded"),
    });
    rmSync(record, { recursive: true });
  });

  test("with an unknown content counts as none", async () => {
    writeFileSync(backupRecordFile(database), "half of it");
    expect(await readLastBackup(database)).toBeUndefined();
  });
});
