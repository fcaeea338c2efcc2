import { Database } from "bun:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import {
  appendFileSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { basename, join } from "node:path";
import { backupRecordFile, readLastBackup } from "../src/storage/sqlite/maintenance/backup.ts";
import { BackupFolder } from "../src/storage/sqlite/maintenance/backup-folder.ts";
import { verify } from "../src/storage/sqlite/maintenance/verify.ts";
import { main } from "./command.ts";
import {
  eventually,
  operatorToken,
  post,
  startTestService,
  storedPlants,
  type TestService,
  temporaryFolder,
} from "./harness.ts";
import { lacks } from "./lacks.ts";
import { seedStore } from "./seeded-store.ts";
import { runInProcess } from "./terminal.ts";

const folder = temporaryFolder();
const inFolder = (name: string) => join(folder.path, name);
const database = inFolder("plants.db");
const dated = /^plants-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-\d{3}Z\.db$/;

beforeAll(() => seedStore(database, { plants: 3000, fromMs: 1_700_000_000_000, untilMs: 1_700_100_000_000 }));
afterAll(() => folder[Symbol.dispose]());

let folders = 0;
function newFolder(): string {
  const path = inFolder(`backups-${++folders}`);
  mkdirSync(path);
  return path;
}

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
function backUpToOutput(redirection: string) {
  const line = `set -o pipefail; "${process.execPath}" "${main}" backup - --database "${database}" ${redirection}`;
  const { status, stderr } = spawnSync("bash", ["-c", line], { encoding: "utf8" });
  return { code: status, err: stderr };
}

describe("backup -", () => {
  test("writes a backup that can be restored to standard output, and nothing else", async () => {
    const [file, restored] = [inFolder("piped.db"), inFolder("restored.db")];
    expect(backUpToOutput(`> ${file}`)).toEqual({
      code: 0,
      err: expect.stringMatching(
        /^Backed up and checked 3,000 plants: standard output, .* [kM]B\.\nSHA-256 [0-9a-f]{64}\nDigest of the first 2,048 plants: [0-9a-f]{64}\n$/,
      ),
    });
    expect((await restore(folder.path, restored)).err).toContain(`The backup ${folder.path} is not a file.`);
    expect((await restore(file, restored)).code).toBe(0);
    expect(storedPlants(restored)).toEqual(storedPlants(database));
    expect(readdirSync(folder.path).filter((name) => name.includes("partial"))).toEqual([]);
    // Truncated within the last page, which SQLite does not notice.
    const bytes = readFileSync(file);
    writeFileSync(file, bytes.subarray(0, bytes.length - 2048));
    expect(await restore(file, inFolder("truncated.db"))).toMatchObject({
      code: 1,
      err: expect.stringMatching(/is damaged: it has \d+ of \d+ bytes/),
    });
    expect(existsSync(inFolder("truncated.db"))).toBe(false);
  });

  test("fails if its reader ends early", () => {
    rmSync(backupRecordFile(database), { force: true });
    // Larger than the buffer of a pipe, so that it cannot be written before the reader is gone.
    expect(backUpToOutput("| true")).toEqual({
      code: 1,
      err: expect.stringContaining("Standard output was closed before"),
    });
    expect(existsSync(backupRecordFile(database))).toBe(false);
  });

  const hasScript = spawnSync("script", ["--version"]).status === 0;
  test.skipIf(lacks("script", !hasScript))("is refused on a terminal", () => {
    const line = [process.execPath, main, "backup", "-", "--database", database].join(" ");
    const { status, stdout } = spawnSync("script", ["-qec", line, "/dev/null"], { encoding: "utf8" });
    expect([status, stdout]).toEqual([2, expect.stringContaining("standard output is a terminal")]);
  });
});

describe("backup DIR", () => {
  test("writes a dated file with its checksum, and keeps all without --keep", async () => {
    const to = newFolder();
    const old = oldBackup(to, "2026-11-01");
    const { code, out } = await backUp(to, "--json");
    const { path, removed } = JSON.parse(out);
    expect([code, removed, dated.test(basename(path))]).toEqual([0, [], true]);
    expect(existsSync(join(to, old))).toBe(true);
    expect(spawnSync("sha256sum", ["-c", `${path}.sha256`], { cwd: to }).status).toBe(0);
  });

  test("--keep removes the oldest backups beyond that number, and no file of someone else", async () => {
    const to = newFolder();
    const old = ["01", "02", "03", "04"].map((day) => oldBackup(to, `2026-11-${day}`));
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
    for (const name of others) writeFileSync(join(to, name), "not ours");
    const [subfolder, link] = ["plants-2026-10-04T00-00-00-000Z.db", "plants-2026-10-05T00-00-00-000Z.db"];
    mkdirSync(join(to, subfolder));
    symlinkSync("notes.txt", join(to, link));
    const { code, err } = await backUp(to, "--keep", "3");
    expect(code).toBe(0);
    const left = readdirSync(to);
    expect(left).toEqual(expect.arrayContaining([...others, subfolder, link]));
    expect(old.filter((name) => left.includes(name))).toEqual(old.slice(2));
    for (const name of old.slice(0, 2)) {
      expect(left).not.toContain(`${name}.sha256`);
      expect(err).toContain(`Removed ${join(to, name)}.`);
    }
  });

  test("--keep also removes the digest beside a backup", async () => {
    const to = newFolder();
    for (let backup = 0; backup < 2; backup++) expect((await backUp(to, "--keep", "1")).code).toBe(0);
    expect(readdirSync(to).filter((name) => name.endsWith(".digest.json"))).toHaveLength(1);
  });

  test("a backup with the oldest name, after the clock was set back, is not removed", async () => {
    const to = newFolder();
    for (const year of ["2997", "2998"]) oldBackup(to, `${year}-01-01`);
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
    using _running = new BackupFolder(database, to).lock();
    expect(await backUp(to)).toMatchObject({ code: 1, err: expect.stringContaining("Another backup of") });
  });
});

const loop = inFolder("loop");
symlinkSync(loop, loop);
test.each([
  ["--json for standard output", ["-", "--json"], 2, "--json cannot be combined"],
  ["--keep for standard output", ["-", "--keep", "3"], 2, "--keep needs a folder"],
  ["--keep for a file", [database, "--keep", "3"], 2, "--keep needs a folder"],
  ["--keep 0", [folder.path, "--keep", "0"], 2, "--keep"],
  ["a missing folder", [inFolder("missing"), "--keep", "3"], 1, "does not exist; create it first"],
  ["a link to itself", [loop], 1, "loop cannot be written: too many symbolic links."],
])("backup refuses %s in one sentence", async (_, args, code, says) => {
  const refused = await backUp(...args);
  expect(refused).toEqual({ code, out: "", err: expect.stringContaining(says) });
  expect(refused.err.trimEnd().split("\n")).toHaveLength(1);
});

test("restore and verify compare a backup with its checksum, and restore says if it could not", async () => {
  const [backup, target] = [inFolder("single.db"), (number: number) => inFolder(`target-${number}.db`)];
  expect((await backUp(backup)).code).toBe(0);
  expect(await restore(backup, target(1))).toMatchObject({
    code: 0,
    err: expect.stringMatching(
      /^Restored and checked 3,000 plants: .*\nSHA-256 [0-9a-f]{64}\nDigest of the first 2,048 plants: [0-9a-f]{64}\n$/,
    ),
  });
  const verified = () => runInProcess(["verify", "--database", backup]);
  expect(await verified()).toMatchObject({
    code: 0,
    err: expect.stringContaining("checksum of the file is correct"),
  });
  // In a name, where SQLite's integrity check finds nothing wrong.
  using file = new Database(backup);
  file.run("UPDATE plants SET name = upper(name) WHERE seq = 5");
  file.close();
  expect(await restore(backup, target(2))).toMatchObject({
    code: 1,
    err: expect.stringContaining(`does not match its checksum in ${backup}.sha256`),
  });
  expect(existsSync(target(2))).toBe(false);
  expect(await verified()).toMatchObject({
    code: 1,
    err: expect.stringMatching(/is damaged:\n {2}its checksum is not the one in .*\.sha256/),
  });
  rmSync(`${backup}.sha256`);
  const { code, err } = await restore(backup, target(2));
  expect(code).toBe(0);
  expect(err).toStartWith("Restored 3,000 plants: ");
  expect(err).toContain(
    `plant-store: ${backup}.sha256 is missing, so the content of ${backup} was checked only by its digests: 1,024 of 3,000 plants match one. To check all of it, put that file beside the backup and restore again.\n`,
  );
  expect(err).toContain(
    `plant-store: plants in ${backup} were changed after they were stored, in block 0 (plants 1 to 1024).`,
  );
  const json = await restore(backup, target(3), "--json", "--quiet");
  expect(JSON.parse(json.out)).toMatchObject({ checksummed: false, matchedPlants: 1024, changedBlocks: [0] });
  expect(json.err).toStartWith(`plant-store: ${backup}.sha256 is missing`);
});

describe("the record of the last backup", () => {
  test("is written by every kind of backup, only for its owner, and removed by a restore", async () => {
    const fromMs = Date.now();
    const [record, single, restored] = [backupRecordFile(database), inFolder("a.db"), inFolder("b.db")];
    for (const make of [
      () => backUp(single),
      () => backUp(newFolder()),
      async () => backUpToOutput("> /dev/null"),
    ]) {
      rmSync(record, { force: true });
      expect(await readLastBackup(database)).toBeUndefined();
      expect((await make()).code).toBe(0);
      expect((await readLastBackup(database))?.atMs).toBeGreaterThanOrEqual(fromMs);
      expect(statSync(record).mode & 0o777).toBe(0o600);
    }
    writeFileSync(backupRecordFile(restored), readFileSync(record));
    expect((await restore(single, restored)).code).toBe(0);
    expect(await readLastBackup(restored)).toBeUndefined();
  });

  test("that cannot be written does not fail the backup, and that cannot be read counts as none", async () => {
    const record = backupRecordFile(database);
    rmSync(record, { force: true });
    mkdirSync(join(record, "in the way"), { recursive: true });
    expect(await backUp(newFolder())).toMatchObject({
      code: 0,
      err: expect.stringContaining("could not be recorded"),
    });
    rmSync(record, { recursive: true });
    writeFileSync(record, "half of it");
    expect(await readLastBackup(database)).toBeUndefined();
  });
});

describe("through the operator listener", () => {
  const backupFolder = newFolder();
  let running: TestService;
  beforeAll(async () => {
    running = await startTestService({ "backup-folder": backupFolder });
    for (let id = 0; id < 3; id++) await post(running.url, `{"id":${id},"name":"Fern"}`);
  });
  afterAll(() => running[Symbol.asyncDispose]());

  const headers = { Authorization: `Bearer ${operatorToken}` };
  const get = (path: string) => fetch(running.operatorUrl + path, { headers });

  async function call(path: string, method = "GET", at = running.operatorUrl) {
    const response = await fetch(`${at}/api/backups${path}`, { method, headers });
    return { status: response.status, ...JSON.parse(await response.text()) };
  }

  async function finished(at = running.operatorUrl) {
    await eventually(async () => (await call("", "GET", at)).task === undefined);
    return call("", "GET", at);
  }

  const audited = async () => JSON.parse(await (await get("/api/audit")).text()).entries;

  test("they are made, listed, downloaded once, and can be restored", async () => {
    // Not a backup: there is no such time.
    writeFileSync(join(backupFolder, "plants-2026-99-99T99-99-99-999Z.db"), "");
    expect(await call("")).toMatchObject({ folder: backupFolder, backups: [] });
    expect((await call("", "POST")).status).toBe(202);
    const { backups, last } = await finished();
    const [{ name, bytes }] = backups;
    expect([backups.length, last]).toEqual([1, { kind: "create", name }]);
    const { url } = await call(`/${name}/link`, "POST");
    const first = await fetch(running.operatorUrl + url);
    const copy = inFolder("copy.db");
    writeFileSync(copy, Buffer.from(await first.arrayBuffer()));
    expect([first.status, statSync(copy).size]).toEqual([200, bytes]);
    expect(first.headers.get("content-disposition")).toBe(`attachment; filename="${name}"`);
    expect((await fetch(running.operatorUrl + url)).status).toBe(404);
    expect((await restore(copy, inFolder("from-copy.db"))).err).toContain("3 plants");
    expect(await audited()).toMatchObject([
      { action: "backup.downloaded", subject: name },
      { action: "backup.created", subject: "data file" },
    ]);
  });

  test("they are made one at a time, and the overview and the metrics have the time of the last", async () => {
    const both = await Promise.all([call("", "POST"), call("", "POST")]);
    expect(both.map(({ status }) => status).sort()).toEqual([202, 503]);
    const [newest] = (await finished()).backups;
    expect(await (await get("/api/overview")).json()).toMatchObject({ store: { lastBackupAt: newest.at } });
    const metric = /^plant_store_last_backup_timestamp_seconds (\S+)$/m;
    const [, seconds] = metric.exec(await (await get("/metrics")).text()) ?? [];
    expect(Number(seconds) * 1000).toBe(Date.parse(newest.at));
  });

  test("they are verified, and one that was changed is reported", async () => {
    const [{ name }] = (await finished()).backups;
    expect((await call(`/${name}/verify`, "POST")).status).toBe(202);
    expect((await audited())[0]).toMatchObject({ action: "backup.verified", subject: name });
    expect((await finished()).last).toEqual({ kind: "verify", name });
    appendFileSync(join(backupFolder, name), "x");
    await call(`/${name}/verify`, "POST");
    expect((await finished()).last).toMatchObject({
      name,
      problem: expect.stringContaining("its checksum is not the one in"),
    });
  });

  test("they are listed with their digests, and with the time when they were verified since the start", async () => {
    const to = newFolder();
    const store = inFolder("with-digests.db");
    copyFileSync(database, store);
    await using service = await startTestService({ "backup-folder": to }, store);
    const at = service.operatorUrl;
    const { digest } = await verify(store);
    await call("", "POST", at);
    const [made] = (await finished(at)).backups;
    expect(made).toMatchObject({ coveredPlants: 2048, digest });
    expect(made.verifiedAt).toBeUndefined();
    // As 1.0.0 leaves one: the digest is known once it is computed.
    rmSync(join(to, `${made.name}.digest.json`));
    expect((await call("", "GET", at)).backups[0]).toMatchObject({ coveredPlants: 0, digest: null });
    const fromMs = Date.now();
    await call(`/${made.name}/verify`, "POST", at);
    const [verified] = (await finished(at)).backups;
    expect(verified).toMatchObject({ coveredPlants: 2048, digest });
    expect(Date.parse(verified.verifiedAt)).toBeGreaterThanOrEqual(fromMs);
  });

  test("one whose digest differs from the one beside it is not verified", async () => {
    await call("", "POST");
    const [{ name }] = (await finished()).backups;
    const other = { coveredPlants: 1024, digest: "0".repeat(64) };
    writeFileSync(join(backupFolder, `${name}.digest.json`), JSON.stringify(other));
    await call(`/${name}/verify`, "POST");
    const { backups, last } = await finished();
    expect(last.problem).toContain("its digest is not the one in");
    expect(backups[0].verifiedAt).toBeUndefined();
  });

  test("one of a store whose plants were changed is made, and says so", async () => {
    const store = inFolder("changed-plants.db");
    copyFileSync(database, store);
    {
      using file = new Database(store);
      file.run("UPDATE plants SET name = 'Changed' WHERE seq = 5");
    }
    await using service = await startTestService({ "backup-folder": newFolder() }, store);
    await call("", "POST", service.operatorUrl);
    const { backups, last } = await finished(service.operatorUrl);
    expect(backups).toHaveLength(1);
    expect(last.problem).toContain(
      "plants were changed after they were stored, in block 0 (plants 1 to 1024)",
    );
  });

  test("they never lead out of their folder", async () => {
    const linked = "plants-2026-01-01T00-00-00-000Z.db";
    symlinkSync(database, join(backupFolder, linked));
    for (const name of [linked, "..%2Fplants.db", "%2Fetc%2Fpasswd", "plants.db"])
      for (const action of ["link", "verify"])
        expect([name, await call(`/${name}/${action}`, "POST")]).toMatchObject([name, { error: 40401 }]);
    expect(JSON.stringify(await call(""))).not.toContain(linked);
  });

  test("without a folder a sentence says so; with a missing one, a backup fails and is logged", async () => {
    await using without = await startTestService();
    const unavailable = "Set --backup-folder to an existing folder to make backups here.";
    expect((await call("", "GET", without.operatorUrl)).unavailable).toBe(unavailable);
    expect(await call("", "POST", without.operatorUrl)).toMatchObject({ error: 40031, message: unavailable });
    const missing = inFolder("missing");
    await using wrong = await startTestService({ "backup-folder": missing });
    expect((await call("", "GET", wrong.operatorUrl)).unavailable).toContain("does not exist");
    await call("", "POST", wrong.operatorUrl);
    expect((await finished(wrong.operatorUrl)).last.problem).toContain("does not exist");
    expect(wrong.logged.join("")).toContain('"internal error"');
    expect(existsSync(missing)).toBe(false);
  });

  // Last: the service is of no use afterwards.
  test("without an entry in the audit trail, none is made, verified or downloaded", async () => {
    const { backups, last } = await finished();
    const [{ name }] = backups;
    const { url } = await call(`/${name}/link`, "POST");
    using file = new Database(running.database);
    file.run("DROP TABLE audit_trail");
    for (const path of ["", `/${name}/verify`])
      expect(await call(path, "POST")).toMatchObject({ status: 500, error: 50001 });
    expect((await fetch(running.operatorUrl + url)).status).toBe(500);
    expect(await finished()).toMatchObject({ backups, last });
  });
});
