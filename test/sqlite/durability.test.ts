// What the promise needs a process for: it ends, or its fsyncs fail, hang or are recorded. What a start does with the files that
// are left is tested in process, in src/storage/sqlite/writing/open-for-writing.test.ts and lost-files.test.ts.
import { Database } from "bun:sqlite";
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  statfsSync,
  statSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { constants } from "node:os";
import { dirname, join } from "node:path";
import { inspectWal } from "../../src/storage/sqlite/data-file/wal-file.ts";
import { openForWriting } from "../../src/storage/sqlite/writing/open-for-writing.ts";
import { runKillRounds } from "../soak/kill.ts";
import { seededRandom } from "../soak/rounds.ts";
import {
  expectOneLine,
  type Finished,
  plantStore,
  type Serving,
  serve,
  shellArguments,
  start,
  untilListening,
} from "../support/command.ts";
import { crashedStore } from "../support/crashed-store.ts";
import { eventually } from "../support/eventually.ts";
import { lacks, lacksMounts } from "../support/lacks.ts";
import { mintToken, operatorGet } from "../support/operator-requests.ts";
import { createUntilRefused, post, statusOf } from "../support/post-plants.ts";
import { missingIn, storedPlants } from "../support/stored-plants.ts";
import { canRecordSyncs, recordSyncs } from "../support/syncs.ts";
import { type TemporaryFolder, temporaryFolder } from "../support/temporary-folder.ts";
import { runInProcess } from "../support/terminal.ts";
import { accessTokenEnvironment, bothTokensEnvironment } from "../support/tokens.ts";

// Large, so that a few hundred plants fill the WAL until it is checkpointed.
const largeName = "x".repeat(60_000);
const lacksShim = lacks("Linux with a C compiler, to record fsyncs", !canRecordSyncs);

let folder: TemporaryFolder;
let file: string;
beforeEach(() => {
  folder = temporaryFolder();
  file = join(folder.path, "plants.db");
});
afterEach(() => folder[Symbol.dispose]());

/** Starts `serve` on the data file, with its syncs recorded. */
function serveRecorded(syncs: ReturnType<typeof recordSyncs>, ...flags: string[]): Promise<Serving> {
  const environment = { ...bothTokensEnvironment, ...syncs.environment };
  return serve(["--database", file, ...flags], { environment });
}

test("what was acknowledged is stored after a loaded service was killed with -9 again and again", async () => {
  const { acknowledged, lost } = await runKillRounds({ rounds: 3, random: seededRandom(1), tell: () => {} });
  expect(acknowledged).toBeGreaterThan(100);
  expect(lost).toBe(0);
});

describe.skipIf(lacksShim)("an fsync that fails", () => {
  /** A service with one plant, of the id 0. A failure ends it without the drain delay, which is longer than a test may take. */
  async function serveWithPlant(syncs: ReturnType<typeof recordSyncs>, drainDelay = "60s"): Promise<Serving> {
    await using cleanUp = new AsyncDisposableStack();
    const service = cleanUp.use(await serveRecorded(syncs, "--drain-delay", drainDelay));
    expect((await post(service.url, '{"id":0,"name":"before"}')).status).toBe(200);
    cleanUp.move();
    return service;
  }

  /** Creates plants until the service has failed, and returns the ids of those that were acknowledged. */
  async function createUntilFailed(service: Serving, name: string): Promise<number[]> {
    const { acknowledged, refusals } = createUntilRefused(service.url, name);
    // Its connections may also end with the process.
    for (const error of await refusals) expect(error).toBeOneOf([0, 50302]);
    return acknowledged;
  }

  async function expectFailed(service: Serving): Promise<void> {
    const { code, err } = await service.ended;
    expect(code).toBe(1);
    expect(err).not.toContain("every acknowledged plant is on disk");
  }

  /** What a failed service leaves: the WAL, and the marker that makes the next start rebuild the data file from it. */
  function expectRebuiltWith(acknowledged: readonly number[]): void {
    expect(statSync(`${file}-wal`).size).toBeGreaterThan(0);
    expect(statSync(`${file}.failure.json`).mode & 0o077).toBe(0);
    expect(reopen(file)).toEqual({ rebuilt: true });
    expect(missingIn(file, acknowledged)).toEqual([]);
  }

  test("of the data file, by the checkpoint thread, ends the service and loses nothing", async () => {
    // Linux reports a failed write-back once; the next sync succeeds.
    const syncs = recordSyncs(folder.path, ".db", "once");
    await using service = await serveWithPlant(syncs);
    syncs.injectFault();
    const acknowledged = await createUntilFailed(service, largeName);
    await expectFailed(service);
    expectRebuiltWith([0, ...acknowledged]);
  });

  test("of the data file, by the last checkpoint of a stop, ends the service and loses nothing", async () => {
    const syncs = recordSyncs(folder.path, ".db");
    await using service = await serveWithPlant(syncs, "0s");
    syncs.injectFault();
    service.child.kill("SIGTERM");
    await expectFailed(service);
    expectRebuiltWith([0]);
  });

  test("of the WAL, at a commit, ends the service and loses nothing", async () => {
    const syncs = recordSyncs(folder.path, "-wal");
    await using service = await serveWithPlant(syncs);
    syncs.injectFault();
    const acknowledged = await createUntilFailed(service, "fern");
    await expectFailed(service);
    expectRebuiltWith([0, ...acknowledged]);
  });

  test("of the WAL, at a commit, fails what was queued and everything after", async () => {
    const syncs = recordSyncs(folder.path, "-wal");
    await using service = await serveWithPlant(syncs);
    syncs.injectFault();
    expect(await createUntilFailed(service, "fern")).toEqual([]);
  });

  test("of the WAL, at a commit and again in the next start, leaves everything for the start after", async () => {
    const syncs = recordSyncs(folder.path, "-wal");
    await using service = await serveWithPlant(syncs);
    syncs.injectFault();
    expect(await createUntilFailed(service, "fern")).toEqual([]);
    await expectFailed(service);

    // Every sync fails now: this start must not trust the page cache either.
    const failing = recordSyncs(folder.path, "");
    failing.injectFault();
    const again = await plantStore(["serve", "--database", file], { environment: failing.environment });
    expect(again.code).toBe(1);
    expect(again.err).not.toContain("    at ");
    expectRebuiltWith([0]);
  });

  type Errno = "EIO" | "ENOSPC" | "EDQUOT";
  const reasons: [Errno, reason: string][] = [
    ["EIO", "EIO"],
    ["ENOSPC", "the disk is full"],
    ["EDQUOT", "the disk quota is exceeded"],
  ];
  const noSpace: Errno[] = ["ENOSPC", "EDQUOT"];

  /** Starts a service whose fsync fails with this error, and waits until it has ended. */
  async function startFailing(syncs: ReturnType<typeof recordSyncs>, errno: Errno): Promise<Finished> {
    syncs.injectFault();
    const environment = { ...syncs.environment, FAIL_ERRNO: String(constants.errno[errno]) };
    const finished = await plantStore(["serve", "--database", file], { environment });
    expect(finished.code).toBe(1);
    return finished;
  }

  function expectNextStart({ rebuilds }: { readonly rebuilds: boolean }): void {
    expect(existsSync(`${file}.failure.json`)).toBe(rebuilds);
    expect(reopen(file)).toEqual({ rebuilt: rebuilds });
  }

  describe("of the WAL, in a start after a crash,", () => {
    async function startAfterCrash(errno: Errno): Promise<Finished> {
      await crashedStore(file, 3);
      return startFailing(recordSyncs(folder.path, "-wal", "once"), errno);
    }

    test.each(reasons)("with %s is explained: %s", async (errno, reason) => {
      const { err } = await startAfterCrash(errno);
      expect(err).toContain(reason);
    });

    test.each(reasons)("with %s loses no plant", async (errno) => {
      await startAfterCrash(errno);
      expect(statSync(`${file}-wal`).size).toBeGreaterThan(0);
      reopen(file);
      expect(storedPlants(file)).toHaveLength(3);
    });

    test("with EIO makes the next start rebuild the data file", async () => {
      await startAfterCrash("EIO");
      expectNextStart({ rebuilds: true });
    });

    test.each(noSpace)("with %s does not make the next start rebuild the data file", async (errno) => {
      await startAfterCrash(errno);
      expectNextStart({ rebuilds: false });
    });
  });

  describe("of the folder, in a start,", () => {
    function startInFolder(errno: Errno): Promise<Finished> {
      openForWriting(file)[Symbol.dispose]();
      // Not once: SQLite ignores what becomes of its own fsync of the folder.
      return startFailing(recordSyncs(folder.path, folder.path), errno);
    }

    test.each(reasons)("with %s is explained in one line: %s", async (errno, reason) => {
      const { err } = await startInFolder(errno);
      expect(err).toContain(reason);
      expectOneLine(err);
    });

    test("with EIO makes the next start rebuild the data file", async () => {
      await startInFolder("EIO");
      expectNextStart({ rebuilds: true });
    });

    test.each(noSpace)("with %s does not make the next start rebuild the data file", async (errno) => {
      await startInFolder(errno);
      expectNextStart({ rebuilds: false });
    });
  });

  test("in a start that creates the tables keeps the WAL for a rebuild", async () => {
    const syncs = recordSyncs(folder.path, "-wal", "once");
    syncs.injectFault();
    const { code, err } = await plantStore(["serve", "--database", file], syncs);
    expect(code).toBe(1);
    expect(err).toContain("SQLITE_IOERR");
    expect(statSync(`${file}-wal`).size).toBeGreaterThan(0);
    expect(existsSync(`${file}.failure.json`)).toBe(true);
  });

  const createToken = (name: string) => ["token", "create", "--database", file, "--name", name];

  test("in a command keeps the WAL", async () => {
    expect((await runInProcess(createToken("first"))).code).toBe(0);
    const syncs = recordSyncs(folder.path, "-wal", "once");
    syncs.injectFault();
    expect((await plantStore(createToken("second"), syncs)).code).toBe(1);
    expect(statSync(`${file}-wal`).size).toBeGreaterThan(0);
  });

  test("of what a running service has committed keeps a command from writing", async () => {
    expect((await runInProcess(createToken("first"))).code).toBe(0);
    using service = openForWriting(file);
    service.database.run(
      "INSERT INTO plants (id, name, created_at_ms, created_by) VALUES (1, 'fern', 1, 'test')",
    );
    const walBytes = statSync(`${file}-wal`).size;
    const syncs = recordSyncs(folder.path, "-wal", "once");
    syncs.injectFault();
    expect((await plantStore(createToken("second"), syncs)).code).toBe(1);
    expect(statSync(`${file}-wal`).size).toBe(walBytes);
  });

  test("of the folder with the rebuilt file keeps the old WAL until a later start finishes the rebuild", async () => {
    await crashedStore(file, 3);
    writeFileSync(`${file}.failure.json`, '{"reason":"sync-failed"}\n');
    const syncs = recordSyncs(folder.path, folder.path);
    const command = ["token", "create", "--name", "a", "--database", file];
    const run = async () => (await plantStore(command, { environment: syncs.environment })).code;
    syncs.injectFault();
    expect(await run()).toBe(1);
    expect(statSync(`${file}-wal`).size).toBeGreaterThan(0);
    // The copy once by SQLite, and once with its mode and owner.
    const copy = `${file}.rebuilt`;
    expect(syncs.paths().slice(-4)).toEqual([copy, copy, `${file}.failure.json.new`, folder.path]);
    const failed = syncs.paths().length;
    syncs.removeFault();
    expect(await run()).toBe(0);
    expect(syncs.paths().slice(failed, failed + 2)).toEqual([folder.path, folder.path]);
    expect(storedPlants(file)).toHaveLength(3);
  });
});

describe.skipIf(lacksShim)("what is synced", () => {
  /** Creates a plant, and checks that the WAL was synced before the response. */
  async function createSynced(
    { url }: Serving,
    syncs: ReturnType<typeof recordSyncs>,
    id: number,
    name: string,
  ): Promise<void> {
    const walSyncs = () => syncs.paths().filter((path) => path.endsWith("-wal")).length;
    const before = walSyncs();
    expect((await post(url, JSON.stringify({ id, name }))).status).toBe(200);
    expect(walSyncs()).toBeGreaterThan(before);
  }

  test("at a start is each new folder", async () => {
    file = join(folder.path, "new", "nested", "plants.db");
    // A file system that cannot sync folders says so, which is no failure.
    const syncs = recordSyncs(folder.path, "/nested");
    syncs.injectFault();
    const environment = {
      ...accessTokenEnvironment,
      ...syncs.environment,
      FAIL_ERRNO: String(constants.errno.EINVAL),
    };
    await using service = await serve(["--database", file], { environment });
    const folders = [dirname(file), dirname(dirname(file)), folder.path];
    expect(syncs.paths()).toEqual(expect.arrayContaining(folders));
    expect((await post(service.url, '{"id":1,"name":"fern"}')).status).toBe(200);
  });

  test("before every response is the WAL", async () => {
    const syncs = recordSyncs(folder.path, "none");
    await using service = await serveRecorded(syncs);
    for (let id = 0; id < 5; id++) await createSynced(service, syncs, id, "fern");
  });

  test("at a checkpoint is the WAL before the data file, on a thread of its own", async () => {
    const syncs = recordSyncs(folder.path, "none");
    await using service = await serveRecorded(syncs);
    expect((await post(service.url, '{"id":0,"name":"fern"}')).status).toBe(200);
    // Frames after this transaction's snapshot cannot be checkpointed, so SQLite leaves the data file unsynced.
    using reader = new Database(file, { readonly: true });
    reader.run("BEGIN");
    reader.query("SELECT count(*) FROM plants").get();
    const started = syncs.seen().length;
    const ofDataFile = () => syncs.seen(started).filter(({ path }) => path === file);
    for (let id = 1; ofDataFile().length === 0; id++) await createSynced(service, syncs, id, largeName);
    const threads = new Set(ofDataFile().map(({ thread }) => thread));
    expect(threads.has(String(service.child.pid))).toBe(false);
    expect(syncs.seen().find(({ thread }) => threads.has(thread))?.path).toBe(`${file}-wal`);
  });

  test("when the data file is lost is the marker that says so", async () => {
    const syncs = recordSyncs(folder.path, "none");
    await using _service = await serveRecorded(syncs);
    rmSync(file);
    await eventually(() => syncs.paths().includes(`${file}.failure.json.new`), "the marker's sync");
  });

  test("by a start with a long-running reader is the WAL, truncated after its last transaction", async () => {
    await crashedStore(file, 3);
    const wal = inspectWal(`${file}-wal`);
    const wholeBytes = wal.kind === "sound" ? wal.committedBytes : 0;
    writeFileSync(`${file}-wal`, Buffer.alloc(5000, 1), { flag: "a" });
    using reader = new Database(file);
    reader.run("BEGIN");
    reader.query("SELECT count(*) FROM plants").get();
    const syncs = recordSyncs(folder.path, "none");
    await using service = await serveRecorded(syncs);
    expect(service.err()).toContain("another process has the data file open");
    expect(syncs.paths()).toContain(`${file}-wal`);
    expect(statSync(`${file}-wal`).size).toBe(wholeBytes);
    const replay = await post(service.url, '{"id":1,"name":"fern"}');
    expect(replay.headers.get("idempotent-replayed")).toBe("true");
  });

  test("by a backup is each file before its folder", async () => {
    const backup = join(folder.path, "backups", "b.db");
    mkdirSync(dirname(backup));
    await crashedStore(file, 3);
    const syncs = recordSyncs(folder.path, "none");
    expect((await plantStore(["backup", backup, "--database", file], syncs)).code).toBe(0);
    // The copy once by SQLite and once by us.
    expect(syncs.paths().slice(-6)).toEqual([
      `${backup}.partial`,
      `${backup}.partial`,
      `${backup}.sha256`,
      dirname(backup),
      `${file}.last-backup.json.new`,
      folder.path,
    ]);
  });

  test("by a restore is the file before its folder and every new one", async () => {
    const backup = join(folder.path, "backup.db");
    const restored = join(folder.path, "new", "nested", "plants.db");
    await crashedStore(file, 3);
    expect((await runInProcess(["backup", backup, "--database", file])).code).toBe(0);
    const syncs = recordSyncs(folder.path, "none");
    expect((await plantStore(["restore", backup, "--database", restored], syncs)).code).toBe(0);
    const copied = syncs.paths().lastIndexOf(`${restored}.partial`);
    expect(copied).toBeGreaterThanOrEqual(0);
    const folders = [dirname(restored), dirname(dirname(restored)), folder.path];
    expect(syncs.paths().slice(copied)).toEqual(expect.arrayContaining(folders));
  });
});

test.skipIf(lacksShim)(
  "a plant is not acknowledged if the -shm file was deleted before its fsync was done",
  async () => {
    const syncs = recordSyncs(folder.path, "-wal", "hang");
    await using service = await serveRecorded(syncs);
    const before = syncs.paths().length;
    syncs.injectFault();
    const response = post(service.url, '{"id":1,"name":"fern"}');
    await eventually(() => syncs.paths().length > before);
    // Another process could open a new one now, and write over what is not synced yet. The service looks at it every 5 ms at
    // most, and an fsync that hangs takes at least 10 ms (test/shims/syncs.c).
    rmSync(`${file}-shm`);
    syncs.removeFault();
    expect((await response).status).toBe(503);
    expect((await service.ended).code).toBe(1);
  },
);

test.skipIf(lacksShim)("a copy that is damaged while it becomes a new store is not restored", async () => {
  await crashedStore(file, 60);
  const backup = join(folder.path, "backup.db");
  const restored = join(folder.path, "restored.db");
  expect((await runInProcess(["backup", backup, "--database", file])).code).toBe(0);
  // The copy has been checked once, when its new store id is written.
  const syncs = recordSyncs(folder.path, ".partial-wal", "hang");
  syncs.injectFault();
  const restoring = plantStore(["restore", backup, "--database", restored], syncs);
  await eventually(() => syncs.paths().includes(`${restored}.partial-wal`));
  damageIdIndex(`${restored}.partial`);
  syncs.removeFault();
  const { code, err } = await restoring;
  expect(code).toBe(1);
  expect(err).toContain("The copy is damaged");
  expect(existsSync(restored)).toBe(false);
});

/** Changes the first entry of the index of ids, which is on one page, as a disk might. */
function damageIdIndex(path: string): void {
  const bytes = readFileSync(path);
  const pageBytes = bytes.readUInt16BE(16);
  const root = rootPage(path, "sqlite_autoindex_plants_1");
  const end = root * pageBytes;
  const file = openSync(path, "r+");
  writeSync(file, Buffer.from([(bytes[end - 1] ?? 0) ^ 0x40]), 0, 1, end - 1);
  closeSync(file);
}

function rootPage(path: string, index: string): number {
  using database = new Database(path, { readonly: true });
  const select = database.query<{ rootpage: number }, [string]>(
    "SELECT rootpage FROM sqlite_schema WHERE name = ?",
  );
  return select.get(index)?.rootpage ?? 0;
}

describe.skipIf(lacksShim)("while an fsync of the WAL hangs", () => {
  // Faults, not waits for something: how long the disk stalls. After the first one, fsyncs are in the background for ten seconds.
  const backgroundStallMs = 300;
  // The service reports one of a second or more.
  const reportedStallMs = 1010;

  /** A service with two plants, and with a disk that stalled for this long; its next fsync hangs, of a plant with the id 1. */
  async function hangingService(firstStallMs: number) {
    const syncs = recordSyncs(folder.path, "-wal", "hang");
    await using cleanUp = new AsyncDisposableStack();
    const service = cleanUp.use(await serveRecorded(syncs));
    const createWhileHanging = async (plant: string) => {
      const before = syncs.paths().length;
      syncs.injectFault();
      const response = post(service.url, plant);
      await eventually(() => syncs.paths().length > before);
      return { response };
    };
    // The first transaction restarts the WAL, whose header SQLite fsyncs itself.
    expect((await post(service.url, '{"id":7,"name":"ivy"}')).status).toBe(200);
    const stalled = await createWhileHanging('{"id":0,"name":"moss"}');
    await Bun.sleep(firstStallMs);
    syncs.removeFault();
    expect((await stalled.response).status).toBe(200);
    const { response: created } = await createWhileHanging('{"id":1,"name":"fern"}');
    const owned = cleanUp.move();
    return {
      service,
      syncs,
      created,
      /** The disk goes on, and the plant is stored. */
      async recover() {
        syncs.removeFault();
        expect((await created).status).toBe(200);
      },
      [Symbol.asyncDispose]: () => owned.disposeAsync(),
    };
  }

  const logged = (service: Serving, line: string): number => service.err().split(line).length - 1;
  const stalling = "the disk is stalling; creates wait until it recovers";

  test("nothing is acknowledged, or read, that a power loss could undo", async () => {
    await using hanging = await hangingService(backgroundStallMs);
    const { service, syncs, created } = hanging;
    const ended: string[] = [];
    const ends = (what: string, work: Promise<unknown>) => work.then(() => ended.push(what));
    const all = [
      ends("create", created),
      ends("replay", post(service.url, '{"id":1,"name":"fern"}')),
      ends("conflict", post(service.url, '{"id":1,"name":"oak"}')),
      ends("list", operatorGet(service, "/api/plants")),
      ends("tokens", operatorGet(service, "/api/tokens")),
      ends("audit trail", operatorGet(service, "/api/audit")),
      ends("command", plantStore(["list", "--database", file], syncs)),
    ];
    await eventually(() => logged(service, stalling) > 0);
    expect(ended).toEqual([]);
    await hanging.recover();
    await Promise.all(all);
    expect(await operatorGet<object>(service, "/api/plants")).toMatchObject({
      plants: [{ id: "1" }, { id: "0" }, { id: "7" }],
    });
  });

  test("the service is live and not ready, and ready again afterwards", async () => {
    await using hanging = await hangingService(backgroundStallMs);
    const { service } = hanging;
    await eventually(() => logged(service, stalling) > 0);
    expect(await statusOf(service.url, "/livez")).toBe(200);
    expect(await statusOf(service.url, "/readyz")).toBe(503);
    await hanging.recover();
    expect(await statusOf(service.url, "/readyz")).toBe(200);
  });

  test("the log says so once, and when each stall was over, also if something else waited to be written", async () => {
    await using hanging = await hangingService(reportedStallMs);
    const { service } = hanging;
    const token = mintToken(service, { name: "greenhouse", scopes: ["plants:create"] });
    await eventually(() => logged(service, stalling) > 0);
    await hanging.recover();
    await token;
    expect(logged(service, stalling)).toBe(1);
    // The first one blocked the service, which could say so only afterwards.
    expect(logged(service, "the disk stalled; creates waited")).toBe(2);
  });
});

test.each([
  ["a second signal", 143, async (service: Serving) => eventually(() => !service.child.kill("SIGTERM"))],
  ["an exception that nobody caught", 1, async (service: Serving) => service.child.kill("SIGUSR2")],
])("a process that ends by %s leaves the WAL for the next start", async (_, code, end) => {
  const throwing = join(folder.path, "throw-on-signal.ts");
  writeFileSync(throwing, 'process.on("SIGUSR2", () => { throw new Error("unexpected"); });');
  await using service = await serve(["--database", file, "--drain-delay", "60s"], {
    environment: { ...accessTokenEnvironment, BUN_OPTIONS: `--preload ${throwing}` },
  });
  expect((await post(service.url, '{"id":1,"name":"a"}')).status).toBe(200);
  await end(service);
  expect((await service.ended).code).toBe(code);
  expect(statSync(`${file}-wal`).size).toBeGreaterThan(0);
});

describe.skipIf(lacksMounts())("a full disk", () => {
  const plantsBefore = 400;
  const leftBytes = 700_000;

  test("refuses plants", async () => {
    await using disk = await fullDisk();
    expect(disk.refusal).toBe(503);
  });

  test("leaves the service live and not ready", async () => {
    await using disk = await fullDisk();
    expect(await statusOf(disk.url, "/readyz")).toBe(503);
    expect(await statusOf(disk.url, "/livez")).toBe(200);
  });

  test("is logged", async () => {
    await using disk = await fullDisk();
    await eventually(() => disk.err().includes("The disk is full"));
  });

  test("stores plants again without a restart once there is space", async () => {
    await using disk = await fullDisk();
    await disk.freeSpace();
    expect(await disk.create()).toBe(200);
    expect(disk.child.exitCode).toBeNull();
  });

  test("loses no plant that was acknowledged", async () => {
    await using disk = await fullDisk();
    await disk.freeSpace();
    expect(await disk.create()).toBe(200);
    expect(disk.acknowledged.length).toBeGreaterThan(plantsBefore);
    for (const id of disk.acknowledged)
      expect((await post(disk.url, plantOf(id))).headers.get("idempotent-replayed")).toBe("true");
  });

  function plantOf(id: number): string {
    return JSON.stringify({ id, name: largeName });
  }

  /** A service on a disk of its own, on which plants were created until the first was refused. */
  async function fullDisk() {
    const disk = join(folder.path, "disk");
    mkdirSync(disk);
    const script = `mount -t tmpfs -o size=80m none ${disk} && exec "$@"`;
    const shell = ["-rm", "sh", ...shellArguments(script, ["serve", "--database", `${disk}/plants.db`])];
    await using cleanUp = new AsyncDisposableStack();
    const service = cleanUp.use(
      await untilListening(start("unshare", shell, { environment: accessTokenEnvironment })),
    );
    const { url, child, err } = service;
    const acknowledged: number[] = [];
    let id = 0;
    const create = async (): Promise<number> => {
      id++;
      const { status } = await post(url, plantOf(id));
      if (status === 200) acknowledged.push(id);
      return status;
    };
    for (let plants = 0; plants < plantsBefore; plants++) expect(await create()).toBe(200);
    // Only the service's own mount namespace has the disk.
    const seen = `/proc/${child.pid}/root${disk}`;
    const filler = join(seen, "filler");
    const { bavail, bsize } = statfsSync(seen);
    try {
      writeFileSync(filler, Buffer.alloc(bavail * bsize - leftBytes));
    } catch (error) {
      // A checkpoint still wrote, and less was left.
      expect(error).toMatchObject({ code: "ENOSPC" });
    }
    let refusal = 200;
    while (refusal === 200) refusal = await create();
    const owned = cleanUp.move();
    return {
      url,
      child,
      err,
      acknowledged,
      /** The status of the first response that was not 200. */
      refusal,
      /** Creates a plant with a new id, and returns the status of the response. */
      create,
      /** Makes space, and waits until the service is ready. */
      async freeSpace(): Promise<void> {
        rmSync(filler);
        await eventually(async () => (await statusOf(url, "/readyz")) === 200);
      },
      [Symbol.asyncDispose]: () => owned.disposeAsync(),
    };
  }
});

test("a limit of the file size, which SQLite reports like an I/O error, ends the service and loses nothing", async () => {
  // In units of 512 bytes: about sixty of these plants fit into the WAL.
  const shell = shellArguments('ulimit -f 8000; exec "$@"', ["serve", "--database", file]);
  await using service = await untilListening(start("sh", shell, { environment: accessTokenEnvironment }));
  const { acknowledged, refusals } = createUntilRefused(service.url, largeName);
  for (const error of await refusals) expect(error).toBeOneOf([0, 50302]);
  const { code, err } = await service.ended;
  expect(code).toBe(1);
  expect(err).toContain("Writing failed: SQLITE_IOERR_WRITE.");
  expect(acknowledged.length).toBeGreaterThan(0);

  expect(reopen(file)).toEqual({ rebuilt: true });
  expect(missingIn(file, acknowledged)).toEqual([]);
});

/** What the next start does, in this process. */
function reopen(file: string): { readonly rebuilt: boolean } {
  let rebuilt = false;
  using _opened = openForWriting(file, {
    rebuilding: () => {
      rebuilt = true;
    },
  });
  expect(existsSync(`${file}.failure.json`)).toBe(false);
  return { rebuilt };
}
