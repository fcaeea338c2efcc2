import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { userInfo } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { readMarker } from "../src/storage/sqlite/failure-marker.ts";
import { SqliteStore } from "../src/storage/sqlite/sqlite-store.ts";
import { DataFileReplaced } from "../src/storage/store.ts";
import { plantStore, type Serving, serve } from "./command.ts";
import {
  accessToken,
  eventually,
  operatorToken,
  post,
  startTestService,
  storedPlants,
  temporaryFolder,
} from "./harness.ts";
import { runInProcess } from "./terminal.ts";

const environment = { PLANT_STORE_ACCESS_TOKEN: accessToken };
const start = (file: string): Promise<Serving> => serve(["--database", file], { environment });
const create = async (url: string, id: number, name = "fern") =>
  (await post(url, JSON.stringify({ id, name }))).status;

/** Creates a data file with its WAL, as kill -9 leaves them, with one transaction for each plant. */
async function crashed(file: string, plants: number): Promise<void> {
  await using service = await start(file);
  for (let id = 1; id <= plants; id++) expect(await create(service.url, id)).toBe(200);
  service.child.kill("SIGKILL");
  await service.ended();
}

async function refusedStart(file: string): Promise<string> {
  const { code, err, out } = await runInProcess(["serve", "--listen", "127.0.0.1:0", "--database", file], {
    environment,
  });
  expect([code, out]).toEqual([1, ""]);
  expect(err).not.toContain("    at ");
  expect(err.trim().split("\n")).toHaveLength(1);
  return err;
}

/** The checkpoint thread opens the files shortly after the store, which has opened the WAL twice. */
async function checkpointThreadOpened(file: string): Promise<void> {
  if (process.platform !== "linux") return Bun.sleep(500);
  const links = () => readdirSync("/proc/self/fd").map((name) => readLink(`/proc/self/fd/${name}`));
  await eventually(() => links().filter((link) => link === `${file}-wal`).length >= 3);
}

function readLink(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return "";
  }
}

function savedIn(log: string): string {
  return /saved under a new name[^}]*"file\.path":"([^"]+)"/.exec(log)?.[1] ?? "";
}

function bytesOf(folder: string): Record<string, string> {
  return Object.fromEntries(
    readdirSync(folder).map((name) => [name, readFileSync(join(folder, name), "hex")]),
  );
}

describe("one data file has one writer", () => {
  test("so a second serve, copy --to or restore is refused; token and read commands work", async () => {
    using folder = temporaryFolder();
    const file = join(folder.path, "plants.db");
    await using service = await start(file);
    await create(service.url, 1);
    expect(await refusedStart(file)).toContain("is in use: another plant-store process writes to it");
    const other = join(folder.path, "other.db");
    expect((await runInProcess(["backup", other, "--database", file])).code).toBe(0);
    for (const args of [
      ["copy", "--from", other, "--to", file],
      ["restore", other, "--database", file],
    ]) {
      const { code, err } = await runInProcess(args);
      expect([args[0], code]).toEqual([args[0], 1]);
      expect(err).toMatch(/is in use|exists already/);
    }
    expect((await runInProcess(["token", "create", "--name", "a", "--database", file])).code).toBe(0);
    expect((await runInProcess(["token", "list", "--database", file])).out).toContain("a");
    expect((await runInProcess(["list", "--database", file])).out).toContain("fern");
    expect(await create(service.url, 2)).toBe(200);
  });

  test("also through a symbolic link, until its process exits", async () => {
    using folder = temporaryFolder();
    const [file, link] = [join(folder.path, "plants.db"), join(folder.path, "link.db")];
    await using service = await start(file);
    symlinkSync(file, link);
    expect(await refusedStart(link)).toContain("is in use");
    service.child.kill("SIGKILL");
    await service.ended();
    await using again = await start(link);
    expect(await create(again.url, 1)).toBe(200);
  });

  test("a restore is refused while another process holds the lock of a file that does not exist yet", async () => {
    using folder = temporaryFolder();
    const file = join(folder.path, "plants.db");
    const backup = join(folder.path, "backup.db");
    {
      await using service = await start(file);
      expect((await runInProcess(["backup", backup, "--database", file])).code).toBe(0);
      await create(service.url, 1);
    }
    const other = join(folder.path, "other.db");
    using holder = new Database(`${other}.lock`);
    holder.run("BEGIN EXCLUSIVE");
    expect((await plantStore(["restore", backup, "--database", other])).err).toContain("is in use");
    holder.run("ROLLBACK");
    expect((await runInProcess(["restore", backup, "--database", other])).code).toBe(0);
  });
});

describe("a data file that is lost while the service runs", () => {
  test.each([
    ["deleted", (file: string) => rmSync(file)],
    ["renamed", (file: string) => renameSync(file, `${file}.elsewhere`)],
    ["replaced", (file: string, other: string) => renameSync(other, file)],
    ["deleted with its WAL", (file: string) => ["", "-wal", "-shm"].map((end) => rmSync(file + end))],
    ["deleted with its folder", (file: string) => rmSync(join(file, ".."), { recursive: true })],
  ])("(%s) is detected, saved under a new name, and restored from there", async (_, lose) => {
    using folder = temporaryFolder();
    const file = join(folder.path, "data", "plants.db");
    const other = join(folder.path, "other.db");
    const service = await start(file);
    for (let id = 1; id <= 50; id++) expect(await create(service.url, id)).toBe(200);
    new Database(other).run("CREATE TABLE t (x)");
    lose(file, other);
    const lostMs = performance.now();
    let acknowledged = 50;
    while ((await create(service.url, acknowledged + 1).catch(() => 0)) === 200) acknowledged++;
    expect(performance.now() - lostMs).toBeLessThan(2000);
    const { code, err } = await service.ended();
    expect(code).toBe(1);
    const saved = savedIn(err);
    // One that was committed and not yet synced is saved, although its outcome was unknown to its client.
    expect(storedPlants(saved).length - acknowledged).toBeOneOf([0, 1]);

    const refusal = await refusedStart(file);
    expect(refusal).toContain(`plant-store restore ${saved}`);
    rmSync(file, { force: true });
    expect(await runInProcess(["restore", saved, "--database", file])).toMatchObject({ code: 0 });
    await using again = await start(file);
    expect((await post(again.url, '{"id":1,"name":"fern"}')).headers.get("idempotent-replayed")).toBe("true");
  });

  test("does not touch its replacement, which the operator may continue to use", async () => {
    using folder = temporaryFolder();
    const [file, other] = [join(folder.path, "plants.db"), join(folder.path, "other.db")];
    {
      await using second = await start(other);
      for (let id = 1; id <= 30; id++) await create(second.url, id, "of the other file");
      second.child.kill("SIGTERM");
      await second.ended();
    }
    const service = await start(file);
    for (let id = 1; id <= 5; id++) await create(service.url, id);
    renameSync(other, file);
    await service.ended();
    expect((await runInProcess(["list", "--database", file])).err).toContain("was deleted or replaced");
    rmSync(`${file}.failure.json`);
    await using again = await start(file);
    expect(storedPlants(file).map(({ name }) => name)).toEqual(Array(30).fill("of the other file"));
    expect(await create(again.url, 31)).toBe(200);
  });

  test("does not acknowledge a plant that waits for another process's lock", async () => {
    using folder = temporaryFolder();
    const file = join(folder.path, "plants.db");
    const service = await start(file);
    await create(service.url, 1);
    const other = new Database(file);
    other.run("BEGIN IMMEDIATE");
    const waiting = create(service.url, 2);
    rmSync(file);
    await eventually(() => service.err().includes("saved under a new name"));
    other.run("ROLLBACK");
    expect(await waiting).toBe(503);
    const { err } = await service.ended();
    expect(storedPlants(savedIn(err)).map(({ id }) => id)).toEqual([1n]);
    other.close();
  });

  test("stops the service with everything in the data file, if only the WAL is lost", async () => {
    using folder = temporaryFolder();
    const file = join(folder.path, "plants.db");
    const service = await start(file);
    for (let id = 1; id <= 20; id++) await create(service.url, id);
    rmSync(`${file}-wal`);
    expect((await service.ended()).code).toBe(1);
    await using again = await start(file);
    expect(storedPlants(file).length).toBeGreaterThanOrEqual(20);
    expect(await create(again.url, 21)).toBe(200);
  });

  test("is saved even if a graceful shutdown follows immediately", async () => {
    using folder = temporaryFolder();
    const file = join(folder.path, "plants.db");
    const service = await start(file);
    await create(service.url, 1);
    rmSync(file);
    service.child.kill("SIGTERM");
    const { code, err } = await service.ended();
    expect(code).toBe(1);
    expect(storedPlants(savedIn(err))).toHaveLength(1);
  });

  // First of all, since the process may be killed before everything is saved.
  test("leaves a failure marker before anything is saved", async () => {
    using folder = temporaryFolder();
    const file = join(folder.path, "plants.db");
    const store = new SqliteStore(file);
    await checkpointThreadOpened(file);
    rmSync(file);
    const reason = await store.failure;
    expect(reason).toBeInstanceOf(DataFileReplaced);
    expect(readMarker(file)).toEqual({ reason: "replaced" });
    const copy = await (reason as DataFileReplaced).rescue();
    expect(readMarker(file)).toEqual({ reason: "replaced", copy });
    await store[Symbol.asyncDispose]();
  });

  // So late that only closing can detect it: the next check of the files would be half a second later.
  test("is saved before the service has stopped, if that happens during a shutdown", async () => {
    using folder = temporaryFolder();
    const file = join(folder.path, "plants.db");
    const running = await startTestService({}, file);
    await create(running.url, 1);
    await checkpointThreadOpened(file);
    rmSync(file);
    await running.service.close("test", 0);
    const log = running.logged.join("");
    expect(storedPlants(savedIn(log))).toHaveLength(1);
    expect(log).not.toContain("every acknowledged plant is on disk");
  });

  test("keeps the service running, unready, if it cannot be saved", async () => {
    using folder = temporaryFolder();
    const data = join(folder.path, "data");
    const file = join(data, "plants.db");
    await using service = await start(file);
    await create(service.url, 1);
    rmSync(data, { recursive: true });
    writeFileSync(data, "in the way");
    await eventually(() => service.err().includes("could not be saved"));
    expect((await fetch(`${service.url}/readyz`)).status).toBe(503);
    expect((await fetch(`${service.url}/livez`)).status).toBe(200);
    expect(await create(service.url, 2)).toBe(503);
    expect(service.child.exitCode).toBeNull();
    // It retries, and exits once it has succeeded.
    rmSync(data);
    const { code, err } = await service.ended();
    expect(code).toBe(1);
    expect(storedPlants(savedIn(err))).toHaveLength(1);
  });
});

describe("a symbolic link", () => {
  test("is resolved, so the WAL of its target is checked", async () => {
    using folder = temporaryFolder();
    const [file, link] = [join(folder.path, "plants.db"), join(folder.path, "link.db")];
    await crashed(file, 40);
    symlinkSync(file, link);
    const wal = readFileSync(`${file}-wal`);
    const flipped = Buffer.from(wal);
    flipped[wal.length / 2] = (flipped[wal.length / 2] ?? 0) ^ 1;
    writeFileSync(`${file}-wal`, flipped);
    for (const args of [["list"], ["token", "list"], ["verify"]]) {
      const { code, err } = await runInProcess([...args, "--database", link]);
      expect([args[0], code, err]).toEqual([args[0], 1, expect.stringContaining("is damaged at frame")]);
    }
    expect(await refusedStart(link)).toContain("is damaged at frame");
    writeFileSync(`${file}-wal`, wal);
    rmSync(file);
    expect(await refusedStart(link)).toContain("is missing or empty");
    expect(readFileSync(`${file}-wal`)).toEqual(wal);
  });
});

describe("at the start", () => {
  test.each([
    ["missing", (file: string) => rmSync(file)],
    ["empty", (file: string) => truncateSync(file, 0)],
  ])("a WAL whose data file is %s is refused and left unchanged", async (_, lose) => {
    using folder = temporaryFolder();
    const file = join(folder.path, "plants.db");
    await crashed(file, 5);
    lose(file);
    const before = bytesOf(folder.path);
    expect(await refusedStart(file)).toContain("is missing or empty");
    for (const args of [["token", "create", "--name", "a"], ["list"], ["verify"]])
      expect((await runInProcess([...args, "--database", file])).code).toBe(1);
    expect(bytesOf(folder.path)).toEqual(before);
  });

  test("a WAL with a flipped bit is refused by every command, and no file changes", async () => {
    using folder = temporaryFolder();
    const file = join(folder.path, "plants.db");
    await crashed(file, 40);
    const wal = readFileSync(`${file}-wal`);
    wal[Math.floor(wal.length / 2)] = (wal[Math.floor(wal.length / 2)] ?? 0) ^ 1;
    writeFileSync(`${file}-wal`, wal);
    const before = bytesOf(folder.path);
    expect(await refusedStart(file)).toMatch(/is damaged at frame \d+/);
    for (const args of [
      ["token", "create", "--name", "a"],
      ["token", "list"],
      ["list"],
      ["export"],
      ["backup", join(folder.path, "backup.db")],
      ["verify"],
    ]) {
      const { code, err } = await runInProcess([...args, "--database", file]);
      expect([args[0], code, err]).toEqual([args[0], 1, expect.stringContaining("damaged")]);
    }
    expect(bytesOf(folder.path)).toEqual(before);
  });

  test("a torn last transaction is normal after a crash", async () => {
    using folder = temporaryFolder();
    const file = join(folder.path, "plants.db");
    await crashed(file, 40);
    const wal = readFileSync(`${file}-wal`);
    wal.fill(0, wal.length - 2000);
    writeFileSync(`${file}-wal`, wal);
    await using service = await start(file);
    expect(storedPlants(file)).toHaveLength(39);
    expect(await create(service.url, 40)).toBe(200);
  });

  test("a truncated data file is refused as damaged", async () => {
    using folder = temporaryFolder();
    const file = join(folder.path, "plants.db");
    const service = await start(file);
    for (let id = 1; id <= 50; id++) await create(service.url, id, "x".repeat(5000));
    service.child.kill("SIGTERM");
    await service.ended();
    truncateSync(file, 65_536);
    expect(await refusedStart(file)).toContain("is damaged");
  });

  test.each([
    // The id in the table differs from the one in the index.
    ["whose index points to another plant", (bytes: Buffer, name: number) => (bytes[name - 1] = 0x7f)],
    ["with a page of zeros", (bytes: Buffer, name: number) => bytes.fill(0, name - (name % 4096), name)],
  ])("a data file %s at its end is refused as damaged", async (_, harm) => {
    using folder = temporaryFolder();
    const file = join(folder.path, "plants.db");
    const service = await start(file);
    await create(service.url, 1);
    await post(service.url, '{"id":72623859790382856,"name":"the last plant"}');
    service.child.kill("SIGTERM");
    await service.ended();
    const bytes = readFileSync(file);
    harm(bytes, bytes.lastIndexOf("the last plant"));
    writeFileSync(file, bytes);
    expect(await refusedStart(file)).toContain("is damaged");
  });

  test("a long-running reader does not prevent the start, and what stays in the WAL is durable", async () => {
    using folder = temporaryFolder();
    const file = join(folder.path, "plants.db");
    await crashed(file, 10);
    using reader = new Database(file);
    reader.run("BEGIN");
    reader.query("SELECT count(*) FROM plants").get();
    await using service = await start(file);
    expect(service.err()).toContain("another process has the data file open");
    expect((await post(service.url, '{"id":1,"name":"fern"}')).headers.get("idempotent-replayed")).toBe(
      "true",
    );
    expect(await create(service.url, 11)).toBe(200);
    // As after a second crash: the data file and the WAL, without the -shm that the reader holds.
    const copy = join(folder.path, "copy.db");
    for (const end of ["", "-wal"]) copyFileSync(file + end, copy + end);
    await using again = await start(copy);
    expect(await create(again.url, 12)).toBe(200);
    expect(storedPlants(copy)).toHaveLength(12);
  });
});

test.skipIf(userInfo().uid !== 0)(
  "a read-only lock file is refused, and not mistaken for a held lock",
  async () => {
    using folder = temporaryFolder();
    const file = join(folder.path, "plants.db");
    writeFileSync(`${file}.lock`, "", { mode: 0o444 });
    chmodSync(folder.path, 0o777);
    const asNobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
    const main = fileURLToPath(new URL("../src/main.ts", import.meta.url));
    const ran = spawnSync(
      asNobody[0] ?? "",
      [...asNobody.slice(1), process.execPath, main, "serve", "--listen", "127.0.0.1:0", "--database", file],
      { encoding: "utf8", timeout: 10_000, env: { PATH: process.env["PATH"], ...environment } },
    );
    expect([ran.status, ran.stderr]).toEqual([1, expect.stringContaining("permission denied")]);
    expect(ran.stderr.trim().split("\n")).toHaveLength(1);
  },
);

test("no plant waits longer than five seconds for another process's write lock, however many wait", async () => {
  await using running = await startTestService();
  using other = new Database(running.database);
  other.run("BEGIN IMMEDIATE");
  const startMs = performance.now();
  const answers: Promise<number>[] = [];
  for (let id = 1; id <= 20; id++) {
    answers.push(create(running.url, id));
    await Bun.sleep(200);
  }
  expect(new Set(await Promise.all(answers))).toEqual(new Set([503]));
  expect(performance.now() - startMs).toBeLessThan(6500);
  other.run("ROLLBACK");
  expect(await create(running.url, 1)).toBe(200);
});

test("the size of the WAL is in the metrics and the overview", async () => {
  await using running = await startTestService();
  await create(running.url, 1);
  const ask = async (path: string) =>
    (
      await fetch(`${running.operatorUrl}${path}`, { headers: { Authorization: `Bearer ${operatorToken}` } })
    ).text();
  expect(await ask("/metrics")).toMatch(/^plant_store_wal_bytes [1-9]\d*$/m);
  expect(JSON.parse(await ask("/api/overview")).store.walBytes).toBeGreaterThan(0);
});

test("the lock file stays, and is empty", async () => {
  using folder = temporaryFolder();
  const file = join(folder.path, "plants.db");
  const service = await start(file);
  service.child.kill("SIGTERM");
  await service.ended();
  expect(existsSync(`${file}.lock`)).toBe(true);
  expect(readFileSync(`${file}.lock`)).toHaveLength(0);
});
