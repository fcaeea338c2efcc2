// Backups: the command that makes them, what a restore checks, and those that are made through the operator listener.
import { Database } from "bun:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import {
  appendFileSync,
  closeSync,
  constants,
  copyFileSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { basename, join } from "node:path";
import { BackupFolder } from "../../src/storage/sqlite/maintenance/backup-folder.ts";
import { lastBackupFile, readLastBackup } from "../../src/storage/sqlite/maintenance/backup-records.ts";
import { verify } from "../../src/storage/sqlite/maintenance/verify.ts";
import { expectOneLine, type Finished, main, start, untilListening } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";
import { lacks, lacksFuse, mountHanging } from "../support/lacks.ts";
import { operatorFetch, operatorGet } from "../support/operator-requests.ts";
import { post } from "../support/post-plants.ts";
import { seedStore } from "../support/seeded-store.ts";
import { storedPlants } from "../support/stored-plants.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { runInProcess } from "../support/terminal.ts";
import { startTestService, type TestService } from "../support/test-service.ts";
import { bothTokensEnvironment } from "../support/tokens.ts";

const folder = temporaryFolder();
const inFolder = (name: string) => join(folder.path, name);
/** A store of 3,000 plants, which no test changes: those that do use a copy. */
const database = inFolder("plants.db");
/** A backup of it, which no test changes either. */
const backedUp = inFolder("backup.db");
const dated = /^plants-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-\d{3}Z\.db$/;

beforeAll(async () => {
  await seedStore(database, { plants: 3000, fromMs: 1_700_000_000_000, untilMs: 1_700_100_000_000 });
  expect((await backUp(backedUp)).code).toBe(0);
});
afterAll(() => folder[Symbol.dispose]());

function newFolder(): string {
  const path = folder.newPath("folder");
  mkdirSync(path);
  return path;
}

/** A copy of the store, for a test that changes it, or its record of the last backup. */
function newStore(): string {
  const path = folder.newPath();
  copyFileSync(database, path);
  return path;
}

/** How many descriptors of this process, in which the service runs too, are of that file. */
function openDescriptors(path: string): number {
  const targets = readdirSync("/proc/self/fd").map((name) => {
    try {
      return readlinkSync(`/proc/self/fd/${name}`);
    } catch {
      // It was closed meanwhile, such as the one that listed the folder.
      return undefined;
    }
  });
  return targets.filter((target) => target === path).length;
}

/** Changes a name, where SQLite's integrity check finds nothing wrong. */
function changePlant(path: string): void {
  using file = new Database(path);
  file.run("UPDATE plants SET name = upper(name) WHERE seq = 5");
}

const backUp = (...args: string[]) => runInProcess(["backup", ...args, "--database", database]);
const restore = (from: string, to: string, ...flags: string[]) =>
  runInProcess(["restore", from, "--database", to, ...flags]);
const verifyFile = (path: string) => runInProcess(["verify", "--database", path]);

/** A copy of one backup, with its checksum beside it, in a folder of its own. */
function newBackup(): string {
  const path = join(newFolder(), "backup.db");
  copyFileSync(backedUp, path);
  copyFileSync(`${backedUp}.sha256`, `${path}.sha256`);
  return path;
}

/** What a backup of that time leaves: the file and its checksum. */
function oldBackup(to: string, date: string): string {
  const name = `plants-${date}T00-00-00-000Z.db`;
  writeFileSync(join(to, name), "SQLite format 3\0");
  writeFileSync(join(to, `${name}.sha256`), `${"0".repeat(64)}  ${name}\n`);
  return name;
}

/** Runs `backup -` as a process whose output is redirected like that. */
function backUpToOutput(redirection: string, store = database) {
  const line = `set -o pipefail; "${process.execPath}" "${main}" backup - --database "${store}" ${redirection}`;
  const { status, stderr } = spawnSync("bash", ["-c", line], { encoding: "utf8" });
  return { code: status, err: stderr };
}

describe("backup -", () => {
  test("writes a backup that can be restored to standard output, and no other file", async () => {
    const to = newFolder();
    const file = join(to, "piped.db");
    const { code, err } = backUpToOutput(`> ${file}`);
    expect(err).toMatch(
      /^Backed up and checked 3,000 plants: standard output, .* [kM]B\.\nSHA-256 [0-9a-f]{64}\nDigest of the first 2,048 plants: [0-9a-f]{64}\n$/,
    );
    expect(code).toBe(0);
    expect(readdirSync(to)).toEqual(["piped.db"]);
    expect(readdirSync(folder.path).filter((name) => name.includes("partial"))).toEqual([]);
    const restored = join(to, "restored.db");
    expect((await restore(file, restored)).code).toBe(0);
    expect(storedPlants(restored)).toEqual(storedPlants(database));
  });

  test("fails if its reader ends early", () => {
    const store = newStore();
    // Larger than the buffer of a pipe, so that it cannot be written before the reader is gone.
    const { code, err } = backUpToOutput("| true", store);
    expect(err).toContain("Standard output was closed before");
    expect(code).toBe(1);
    expect(existsSync(lastBackupFile(store))).toBe(false);
  });

  const hasScript = spawnSync("script", ["--version"]).status === 0;
  test.skipIf(lacks("script", !hasScript))("is refused on a terminal", () => {
    const line = [process.execPath, main, "backup", "-", "--database", database].join(" ");
    const { status, stdout } = spawnSync("script", ["-qec", line, "/dev/null"], { encoding: "utf8" });
    expect(stdout).toContain("Standard output is a terminal");
    expect(status).toBe(2);
  });
});

describe("backup DIR", () => {
  test("writes a file that is named by its date", async () => {
    const { code, out } = await backUp(newFolder(), "--json");
    expect(code).toBe(0);
    expect(basename(JSON.parse(out).path)).toMatch(dated);
  });

  test("writes a checksum for sha256sum beside it", async () => {
    const to = newFolder();
    const { path } = JSON.parse((await backUp(to, "--json")).out);
    expect(spawnSync("sha256sum", ["-c", `${path}.sha256`], { cwd: to }).status).toBe(0);
  });

  test("keeps all backups without --keep", async () => {
    const to = newFolder();
    const old = oldBackup(to, "2026-11-01");
    const { removed } = JSON.parse((await backUp(to, "--json")).out);
    expect(removed).toEqual([]);
    expect(readdirSync(to)).toContain(old);
  });

  describe("--keep 3, with four backups and files of someone else,", () => {
    const to = inFolder("kept");
    const backups = ["01", "02", "03", "04"].map((day) => `plants-2026-11-${day}T00-00-00-000Z.db`);
    const others = [
      "notes.txt",
      "plants.db",
      "plants-2026-10-01T00-00-00-000Z.db.gz",
      "plants-2026-10-01T00-00-00-000Z.db",
      "other-2026-10-01T00-00-00-000Z.db",
      "xplants-2026-10-01T00-00-00-000Z.db",
      "plants-2026-10-02T00-00-00-000Z.db.partial",
      "plants-2026-10-03T00-00-00-000Z.db.sha256",
    ];
    const subfolder = "plants-2026-10-04T00-00-00-000Z.db";
    const link = "plants-2026-10-05T00-00-00-000Z.db";
    let finished: Finished;
    beforeAll(async () => {
      mkdirSync(to);
      for (const day of ["01", "02", "03", "04"]) oldBackup(to, `2026-11-${day}`);
      for (const name of others) writeFileSync(join(to, name), "not ours");
      mkdirSync(join(to, subfolder));
      symlinkSync("notes.txt", join(to, link));
      finished = await backUp(to, "--keep", "3");
    });

    test("succeeds", () => {
      expect(finished.code).toBe(0);
    });

    test.each(backups.slice(0, 2))("removes %s with its checksum, and says so", (name) => {
      const left = readdirSync(to);
      expect(left).not.toContain(name);
      expect(left).not.toContain(`${name}.sha256`);
      expect(finished.err).toContain(`Removed ${join(to, name)}.`);
    });

    test.each(backups.slice(2))("keeps %s, one of the newest", (name) => {
      expect(readdirSync(to)).toContain(name);
    });

    test.each([...others, subfolder, link])("keeps %s, which is no backup of this store", (name) => {
      expect(readdirSync(to)).toContain(name);
    });
  });

  test("--keep also removes the digest beside a backup", async () => {
    const to = newFolder();
    expect((await backUp(to, "--keep", "1")).code).toBe(0);
    expect((await backUp(to, "--keep", "1")).code).toBe(0);
    expect(readdirSync(to).filter((name) => name.endsWith(".digest.json"))).toHaveLength(1);
  });

  test("--keep does not remove the new backup if the clock was set back", async () => {
    const to = newFolder();
    oldBackup(to, "2997-01-01");
    oldBackup(to, "2998-01-01");
    const { path } = JSON.parse((await backUp(to, "--keep", "1", "--json")).out);
    expect(readdirSync(to).filter((name) => name.endsWith(".db"))).toEqual([basename(path)]);
  });

  test("removes what interrupted backups left", async () => {
    const to = newFolder();
    const name = "plants-2026-11-01T00-00-00-000Z.db";
    writeFileSync(join(to, `${name}.partial`), "SQLite format 3\0 and so on");
    writeFileSync(join(to, `${name}.partial-journal`), "");
    const complete = oldBackup(to, "2026-11-02");
    expect((await backUp(to, "--keep", "5")).code).toBe(0);
    const left = readdirSync(to).filter((each) => each.endsWith(".db") || each.includes(".partial"));
    expect(left.sort()).toEqual([complete, expect.stringMatching(dated)]);
  });

  test("is refused while another one runs in the same folder", async () => {
    const to = newFolder();
    using _running = await new BackupFolder(database, to).lock();
    const { code, err } = await backUp(to);
    expect(err).toContain("Another backup of");
    expect(code).toBe(1);
  });
});

describe("backup refuses", () => {
  const loop = inFolder("loop");
  beforeAll(() => symlinkSync(loop, loop));

  test.each([
    ["--json for standard output", ["-", "--json"], 2, "--json cannot be combined"],
    ["--keep for standard output", ["-", "--keep", "3"], 2, "--keep needs a folder"],
    ["--keep for a file", [database, "--keep", "3"], 2, "--keep needs a folder"],
    ["--keep 0", [folder.path, "--keep", "0"], 2, "--keep"],
    ["a missing folder", [inFolder("missing"), "--keep", "3"], 1, "does not exist; create it first"],
    ["a link to itself", [loop], 1, "loop cannot be written: too many symbolic links."],
  ])("%s in one line", async (_, args, code, says) => {
    const refused = await backUp(...args);
    expect(refused.err).toContain(says);
    expectOneLine(refused.err);
    expect(refused.out).toBe("");
    expect(refused.code).toBe(code);
  });
});

describe("a backup with its checksum", () => {
  test("is restored and checked", async () => {
    const { code, err } = await restore(newBackup(), folder.newPath());
    expect(err).toMatch(
      /^Restored and checked 3,000 plants: .*\nSHA-256 [0-9a-f]{64}\nDigest of the first 2,048 plants: [0-9a-f]{64}\n$/,
    );
    expect(code).toBe(0);
  });

  test("is verified by it", async () => {
    const { code, err } = await verifyFile(newBackup());
    expect(err).toContain("checksum of the file is correct");
    expect(code).toBe(0);
  });

  test("is not restored after a change", async () => {
    const backup = newBackup();
    const restored = folder.newPath();
    changePlant(backup);
    const { code, err } = await restore(backup, restored);
    expect(err).toContain(`does not match its checksum in ${backup}.sha256`);
    expect(code).toBe(1);
    expect(existsSync(restored)).toBe(false);
  });

  test("is reported as damaged by verify after a change", async () => {
    const backup = newBackup();
    changePlant(backup);
    const { code, err } = await verifyFile(backup);
    expect(err).toMatch(/is damaged:\n {2}its checksum is not the one in .*\.sha256/);
    expect(code).toBe(1);
  });
});

describe("a backup without its checksum", () => {
  function newChangedBackup(): string {
    const backup = newBackup();
    changePlant(backup);
    rmSync(`${backup}.sha256`);
    return backup;
  }

  test("is restored with a warning that names the blocks in which plants were changed", async () => {
    const backup = newChangedBackup();
    const { code, err } = await restore(backup, folder.newPath());
    expect(err).toStartWith("Restored 3,000 plants: ");
    expect(err).toContain(
      `plant-store: ${backup}.sha256 is missing, so the content of ${backup} was checked only by its digests: 1,024 of 3,000 plants match one. To check all of it, put that file beside the backup and restore again.\n`,
    );
    expect(err).toContain(
      `plant-store: Plants in ${backup} were changed after they were stored, in block 0 (plants 1 to 1024).`,
    );
    expect(code).toBe(0);
  });

  test("is restored with the changed blocks in JSON, and a warning even if --quiet", async () => {
    const backup = newChangedBackup();
    const { out, err } = await restore(backup, folder.newPath(), "--json", "--quiet");
    expect(JSON.parse(out)).toMatchObject({ checksummed: false, matchedPlants: 1024, changedBlocks: [0] });
    expect(err).toStartWith(`plant-store: ${backup}.sha256 is missing`);
  });

  test("is not restored if it is truncated within its last page, which SQLite does not notice", async () => {
    const backup = newBackup();
    const restored = folder.newPath();
    rmSync(`${backup}.sha256`);
    truncateSync(backup, statSync(backup).size - 2048);
    const { code, err } = await restore(backup, restored);
    expect(err).toMatch(/is damaged: it has \d+ of \d+ bytes/);
    expect(code).toBe(1);
    expect(existsSync(restored)).toBe(false);
  });
});

test("restore refuses a folder instead of a backup", async () => {
  const { err } = await restore(folder.path, folder.newPath());
  expect(err).toContain(`The backup ${folder.path} is not a file.`);
});

describe("the record of the last backup", () => {
  const backUpStore = (store: string, to: string) => runInProcess(["backup", to, "--database", store]);

  test.each([
    ["a file", (store: string) => backUpStore(store, folder.newPath())],
    ["a folder", (store: string) => backUpStore(store, newFolder())],
    ["standard output", async (store: string) => backUpToOutput("> /dev/null", store)],
  ])("is written, only for its owner, by a backup to %s", async (_, make) => {
    const store = newStore();
    expect(await readLastBackup(store)).toBeUndefined();
    const fromMs = Date.now();
    expect((await make(store)).code).toBe(0);
    expect((await readLastBackup(store))?.atMs).toBeGreaterThanOrEqual(fromMs);
    expect(statSync(lastBackupFile(store)).mode & 0o777).toBe(0o600);
  });

  test("is removed by a restore", async () => {
    const store = newStore();
    const backup = folder.newPath("backup.db");
    const restored = folder.newPath();
    expect((await backUpStore(store, backup)).code).toBe(0);
    copyFileSync(lastBackupFile(store), lastBackupFile(restored));
    expect(await readLastBackup(restored)).toBeDefined();
    expect((await restore(backup, restored)).code).toBe(0);
    expect(await readLastBackup(restored)).toBeUndefined();
  });

  test("that cannot be written does not fail the backup", async () => {
    const store = newStore();
    mkdirSync(join(lastBackupFile(store), "in the way"), { recursive: true });
    const { code, err } = await backUpStore(store, newFolder());
    expect(err).toContain("could not be recorded");
    expect(code).toBe(0);
  });

  test("that is malformed counts as none", async () => {
    const store = newStore();
    writeFileSync(lastBackupFile(store), "half of it");
    expect(await readLastBackup(store)).toBeUndefined();
  });

  test("that cannot be read is named by verify", async () => {
    const store = newStore();
    mkdirSync(lastBackupFile(store));
    const { code, err } = await runInProcess(["verify", "--database", store]);
    expect(code).toBe(1);
    expectOneLine(err);
    expect(err).toContain(lastBackupFile(store));
  });
});

describe("through the operator listener", () => {
  /** A service with an empty folder for backups, and its calls. It has three plants, or those of a given store. */
  async function startWithBackups(store?: string, backupFolder = newFolder()) {
    const service = await startTestService({ "backup-folder": backupFolder, database: store });
    if (store === undefined)
      for (const id of [1, 2, 3]) await post(service.url, `{"id":${id},"name":"Fern"}`);
    return { ...service, ...callsOf(service), backupFolder };
  }

  function callsOf(service: Pick<TestService, "operatorUrl">) {
    async function call(path: string, method = "GET") {
      const response = await operatorFetch(service, `/api/backups${path}`, { method });
      return { status: response.status, ...JSON.parse(await response.text()) };
    }

    /** The list of the backups, once nothing is being made or verified. */
    async function finished() {
      await eventually(async () => (await call("")).task === undefined);
      return call("");
    }

    async function makeBackup() {
      expect((await call("", "POST")).status).toBe(202);
      const { backups } = await finished();
      return backups[0];
    }

    async function audited() {
      const { entries } = await operatorGet<{ entries: object[] }>(service, "/api/audit");
      return entries;
    }

    return { call, finished, makeBackup, audited };
  }

  test("one is made and listed", async () => {
    await using service = await startWithBackups();
    expect((await service.call("", "POST")).status).toBe(202);
    const { backups, last } = await service.finished();
    expect(backups).toHaveLength(1);
    expect(last).toEqual({ kind: "create", name: backups[0].name });
    expect(await service.audited()).toMatchObject([{ action: "backup.created", subject: "data file" }]);
  });

  test("one of changed plants counts, with a warning", async () => {
    const store = newStore();
    changePlant(store);
    await using service = await startWithBackups(store);
    await service.call("", "POST");
    const { backups, last } = await service.finished();
    expect(backups).toHaveLength(1);
    expect(last).toEqual({
      kind: "create",
      name: backups[0].name,
      warning:
        "The backup is complete, but plants were changed after they were stored, in block 0 (plants 1 to 1024); verify the data file.",
    });
    expect(service.logged.join("")).not.toContain("internal error");
  });

  test("a file whose name is no time is not listed", async () => {
    await using service = await startWithBackups();
    writeFileSync(join(service.backupFolder, "plants-2026-99-99T99-99-99-999Z.db"), "");
    const list = await service.call("");
    expect(list.folder).toBe(service.backupFolder);
    expect(list.backups).toEqual([]);
  });

  test("one is downloaded through a link, which is good once", async () => {
    await using service = await startWithBackups();
    const { name, bytes } = await service.makeBackup();
    const { url } = await service.call(`/${name}/link`, "POST");
    const response = await fetch(service.operatorUrl + url);
    expect(response.status).toBe(200);
    expect(response.headers.get("content-disposition")).toBe(`attachment; filename="${name}"`);
    const downloaded = folder.newPath();
    writeFileSync(downloaded, Buffer.from(await response.arrayBuffer()));
    expect(statSync(downloaded).size).toBe(bytes);
    expect((await restore(downloaded, folder.newPath())).err).toContain("3 plants");
    expect((await service.audited())[0]).toMatchObject({ action: "backup.downloaded", subject: name });
    expect((await fetch(service.operatorUrl + url)).status).toBe(404);
  });

  test("one of a data file with a strange name is downloaded, too", async () => {
    const store = join(newFolder(), `plants "100%" #1.db`);
    copyFileSync(database, store);
    await using service = await startWithBackups(store);
    const { name } = await service.makeBackup();
    expect(name).toStartWith(`plants "100%" #1-`);
    const { url } = await service.call(`/${encodeURIComponent(name)}/link`, "POST");
    const response = await fetch(service.operatorUrl + url);
    expect(response.status).toBe(200);
    expect(response.headers.get("content-disposition")).toBe(
      `attachment; filename="${name.replaceAll('"', "_")}"`,
    );
  });

  test.skipIf(lacks("/proc/self/fd", !existsSync("/proc/self/fd")))(
    "a folder that does not respond keeps no plant from being stored",
    async () => {
      await using service = await startWithBackups();
      const { name } = await service.makeBackup();
      // To read a FIFO waits for whoever writes to it, as a file on another machine waits for that machine.
      const record = join(service.backupFolder, `${name}.digest.json`);
      rmSync(record);
      expect(spawnSync("mkfifo", [record]).status).toBe(0);
      const writer = openSync(record, constants.O_RDWR);
      const list = service.call("");
      await eventually(() => openDescriptors(record) === 2, "the service to read the FIFO");
      expect((await post(service.url, '{"id":4,"name":"Fern"}')).status).toBe(200);
      closeSync(writer);
      expect((await list).backups).toHaveLength(1);
    },
  );

  test.skipIf(lacksFuse())("a backup into a folder that hangs keeps no plant from being stored", async () => {
    const hanging = newFolder();
    const command = `${process.execPath} ${main} serve --database ${folder.newPath()} --backup-folder ${hanging}`;
    const script = `${mountHanging(hanging)} && exec ${command}`;
    await using service = await untilListening(
      start("unshare", ["-rm", "sh", "-c", script], { environment: bothTokensEnvironment }),
    );
    callsOf(service)
      .call("", "POST")
      .catch(() => "its response never arrives");
    await eventually(async () => {
      // Without a limit, a service that hangs would keep the test from failing.
      const signal = AbortSignal.timeout(2000);
      const response = await operatorFetch(service, "/api/audit", { signal });
      return JSON.parse(await response.text()).entries.length === 1;
    }, "the backup to begin");
    for (const id of [1, 2, 3])
      expect((await post(service.url, `{"id":${id},"name":"Fern"}`)).status).toBe(200);
  });

  test("they are made one at a time", async () => {
    await using service = await startWithBackups();
    const both = await Promise.all([service.call("", "POST"), service.call("", "POST")]);
    expect(both.map(({ status }) => status).sort()).toEqual([202, 503]);
    await service.finished();
  });

  test("the overview and the metrics have the time of the last", async () => {
    await using service = await startWithBackups();
    const { at } = await service.makeBackup();
    expect(await operatorGet(service, "/api/overview")).toMatchObject({ store: { lastBackupAt: at } });
    const metrics = await (await operatorFetch(service, "/metrics")).text();
    const [, seconds] = /^plant_store_last_backup_timestamp_seconds (\S+)$/m.exec(metrics) ?? [];
    expect(Number(seconds) * 1000).toBe(Date.parse(at));
  });

  test("one is listed with the time when it was verified", async () => {
    await using service = await startWithBackups();
    const { name, verifiedAt } = await service.makeBackup();
    expect(verifiedAt).toBeUndefined();
    const fromMs = Date.now();
    expect((await service.call(`/${name}/verify`, "POST")).status).toBe(202);
    const { backups, last } = await service.finished();
    expect(last).toEqual({ kind: "verify", name });
    expect(Date.parse(backups[0].verifiedAt)).toBeGreaterThanOrEqual(fromMs);
    expect((await service.audited())[0]).toMatchObject({ action: "backup.verified", subject: name });
  });

  test("one is still listed as verified after a restart", async () => {
    const store = newStore();
    const backupFolder = newFolder();
    const verifiedAt = await (async () => {
      await using service = await startWithBackups(store, backupFolder);
      const { name } = await service.makeBackup();
      await service.call(`/${name}/verify`, "POST");
      return (await service.finished()).backups[0].verifiedAt;
    })();
    expect(verifiedAt).toBeString();
    await using again = await startWithBackups(store, backupFolder);
    expect((await again.call("")).backups[0].verifiedAt).toBe(verifiedAt);
  });

  test("one that was changed after it was verified is no longer listed as verified", async () => {
    await using service = await startWithBackups();
    const { name } = await service.makeBackup();
    await service.call(`/${name}/verify`, "POST");
    await service.finished();
    appendFileSync(join(service.backupFolder, name), "x");
    expect((await service.call("")).backups[0].verifiedAt).toBeUndefined();
  });

  test("one that fails to verify is no longer listed as verified, with its digest", async () => {
    const store = newStore();
    await using service = await startWithBackups(store);
    const { name, digest } = await service.makeBackup();
    await service.call(`/${name}/verify`, "POST");
    await service.finished();
    rmSync(join(service.backupFolder, `${name}.sha256`));
    await service.call(`/${name}/verify`, "POST");
    const { backups, last } = await service.finished();
    expect(last.problem).toBe("it has no checksum file");
    expect(backups[0].verifiedAt).toBeUndefined();
    expect(backups[0].digest).toBe(digest);
  });

  test("one that was changed is reported when it is verified", async () => {
    await using service = await startWithBackups();
    const { name } = await service.makeBackup();
    appendFileSync(join(service.backupFolder, name), "x");
    await service.call(`/${name}/verify`, "POST");
    const { last } = await service.finished();
    expect(last.name).toBe(name);
    expect(last.problem).toContain("its checksum is not the one in");
    expect(service.logged.join("")).toContain('"a backup did not pass its verification"');
  });

  test("one is listed with its digest, which is computed again if it is missing", async () => {
    const store = newStore();
    await using service = await startWithBackups(store);
    const { digest } = await verify(store);
    const made = await service.makeBackup();
    expect(made).toMatchObject({ coveredPlants: 2048, digest });
    // As 1.0.0 leaves one: the digest is known once it is computed.
    rmSync(join(service.backupFolder, `${made.name}.digest.json`));
    const [listed] = (await service.call("")).backups;
    expect(listed).toMatchObject({ coveredPlants: 0, digest: null });
    await service.call(`/${made.name}/verify`, "POST");
    const [verified] = (await service.finished()).backups;
    expect(verified).toMatchObject({ coveredPlants: 2048, digest });
  });

  test("one whose digest differs from the one beside it is not verified", async () => {
    await using service = await startWithBackups();
    const { name } = await service.makeBackup();
    const other = { coveredPlants: 1024, digest: "0".repeat(64) };
    writeFileSync(join(service.backupFolder, `${name}.digest.json`), JSON.stringify(other));
    await service.call(`/${name}/verify`, "POST");
    const { backups, last } = await service.finished();
    expect(last.problem).toContain("its digest is not the one in");
    expect(backups[0].verifiedAt).toBeUndefined();
  });

  test("one whose digest record cannot be read is listed, and not verified", async () => {
    await using service = await startWithBackups();
    const { name } = await service.makeBackup();
    const record = join(service.backupFolder, `${name}.digest.json`);
    rmSync(record);
    mkdirSync(record);
    const [listed] = (await service.call("")).backups;
    expect(listed).toMatchObject({ name, digest: null });
    await service.call(`/${name}/verify`, "POST");
    const { last } = await service.finished();
    expect(last.problem).toStartWith(`${record} cannot be opened: EISDIR`);
    expect(service.logged.join("")).not.toContain("internal error");
  });

  describe("one whose verification cannot be recorded", () => {
    const makeBackup = async (service: Awaited<ReturnType<typeof startWithBackups>>): Promise<string> => {
      const { name } = await service.makeBackup();
      mkdirSync(join(service.backupFolder, `${name}.digest.json.new`, "in the way"), { recursive: true });
      return name;
    };

    test("passes with a warning if it is sound", async () => {
      await using service = await startWithBackups();
      const name = await makeBackup(service);
      await service.call(`/${name}/verify`, "POST");
      const { last } = await service.finished();
      expect(last.problem).toBeUndefined();
      expect(last.warning).toStartWith(
        "Nothing wrong was found in the backup, but that could not be recorded: ",
      );
      expect(service.logged.join("")).not.toContain("internal error");
    });

    test("fails if it was changed", async () => {
      await using service = await startWithBackups();
      const name = await makeBackup(service);
      appendFileSync(join(service.backupFolder, name), "x");
      await service.call(`/${name}/verify`, "POST");
      const { last } = await service.finished();
      expect(last.problem).toMatch(/^its checksum is not the one in .*; this could not be recorded: /);
      expect(service.logged.join("")).not.toContain("internal error");
    });
  });

  describe("a name that leads out of the folder", () => {
    const linked = "plants-2026-01-01T00-00-00-000Z.db";
    let service: Awaited<ReturnType<typeof startWithBackups>>;
    beforeAll(async () => {
      service = await startWithBackups();
      symlinkSync(database, join(service.backupFolder, linked));
    });
    afterAll(() => service[Symbol.asyncDispose]());

    const outside = [linked, "..%2Fplants.db", "%2Fetc%2Fpasswd", "plants.db"];
    test.each(outside)("gets no link: %s", async (name) => {
      expect(await service.call(`/${name}/link`, "POST")).toMatchObject({ error: 40401 });
    });

    test.each(outside)("is not verified: %s", async (name) => {
      expect(await service.call(`/${name}/verify`, "POST")).toMatchObject({ error: 40401 });
    });

    test("is not listed", async () => {
      expect(JSON.stringify(await service.call(""))).not.toContain(linked);
    });
  });

  test("without a folder a sentence says how to set one", async () => {
    await using service = await startTestService();
    const { call } = callsOf(service);
    const unavailable = "Set --backup-folder to an existing folder to make backups here.";
    expect((await call("")).unavailable).toBe(unavailable);
    expect(await call("", "POST")).toMatchObject({ error: 40031, message: unavailable });
  });

  test("with a missing folder a sentence says so, and a backup fails with a warning", async () => {
    const missing = folder.newPath("missing");
    await using service = await startWithBackups(undefined, missing);
    const sentence = `The folder ${missing} does not exist; create it first.`;
    expect((await service.call("")).unavailable).toBe(sentence);
    await service.call("", "POST");
    expect((await service.finished()).last).toEqual({ kind: "create", problem: sentence });
    const warning = service.logged.map((line) => JSON.parse(line)).find(({ level }) => level === "warn");
    expect(warning).toMatchObject({
      message: "a backup could not be made",
      "plant_store.request_id": expect.any(String),
      "exception.message": sentence,
    });
    expect(service.logged.join("")).not.toContain("internal error");
    expect(existsSync(missing)).toBe(false);
  });

  test("with a folder that cannot be read a sentence says so", async () => {
    const unreadable = folder.newPath("unreadable");
    symlinkSync(unreadable, unreadable);
    await using service = await startWithBackups(undefined, unreadable);
    expect((await service.call("")).unavailable).toStartWith(`${unreadable} cannot be opened: ELOOP`);
  });

  /** A backup, and a link to download it by. */
  const makeLink = async (service: Awaited<ReturnType<typeof startWithBackups>>) => {
    const { name } = await service.makeBackup();
    const { url } = await service.call(`/${name}/link`, "POST");
    return { name, url };
  };

  describe("after the folder was removed", () => {
    let service: Awaited<ReturnType<typeof startWithBackups>>;
    let name: string;
    let url: string;
    beforeAll(async () => {
      service = await startWithBackups();
      ({ name, url } = await makeLink(service));
      rmSync(service.backupFolder, { recursive: true });
    });
    afterAll(() => service[Symbol.asyncDispose]());

    test.each([
      ["verify", () => operatorFetch(service, `/api/backups/${name}/verify`, { method: "POST" })],
      ["link", () => operatorFetch(service, `/api/backups/${name}/link`, { method: "POST" })],
      ["download", () => fetch(service.operatorUrl + url)],
    ])("a sentence says so: %s", async (_, request) => {
      const response = await request();
      expect(await response.json()).toMatchObject({
        error: 40031,
        message: `The folder ${service.backupFolder} does not exist; create it first.`,
      });
      expect(service.logged.join("")).not.toContain("internal error");
    });
  });

  test("a folder that is missing for a while does not use up a link", async () => {
    await using service = await startWithBackups();
    const { url } = await makeLink(service);
    renameSync(service.backupFolder, `${service.backupFolder}.away`);
    expect(await (await fetch(service.operatorUrl + url)).json()).toMatchObject({ error: 40031 });
    renameSync(`${service.backupFolder}.away`, service.backupFolder);
    expect((await fetch(service.operatorUrl + url)).status).toBe(200);
  });

  describe("without an entry in the audit trail", () => {
    let service: Awaited<ReturnType<typeof startWithBackups>>;
    let name: string;
    let url: string;
    beforeAll(async () => {
      service = await startWithBackups();
      ({ name, url } = await makeLink(service));
      using file = new Database(service.database);
      file.run("DROP TABLE audit_trail");
    });
    afterAll(() => service[Symbol.asyncDispose]());

    test("none is made", async () => {
      const before = await service.finished();
      expect(await service.call("", "POST")).toMatchObject({ status: 500, error: 50001 });
      expect(await service.finished()).toEqual(before);
    });

    test("none is verified", async () => {
      const before = await service.finished();
      expect(await service.call(`/${name}/verify`, "POST")).toMatchObject({ status: 500, error: 50001 });
      expect(await service.finished()).toEqual(before);
    });

    test("none is downloaded", async () => {
      expect((await fetch(service.operatorUrl + url)).status).toBe(500);
    });
  });
});
