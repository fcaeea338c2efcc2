// An fsync fails: in a service under load, in its stop, in a start or in a command. Nothing that was acknowledged is lost. What a
// start does with the files is tested in process, in src/storage/sqlite/writing/open-for-writing.test.ts and lost-files.test.ts.
import { describe, expect, test } from "bun:test";
import { existsSync, statSync, writeFileSync } from "node:fs";
import { constants } from "node:os";
import { join } from "node:path";
import { openForWriting } from "../../src/storage/sqlite/writing/open-for-writing.ts";
import { expectOneLine, plantStore, type Serving } from "../support/command.ts";
import { crashedStore } from "../support/crashed-store.ts";
import { eventually } from "../support/eventually.ts";
import { useFolderForEachTest } from "../support/folder-for-each-test.ts";
import { memoize } from "../support/memoize.ts";
import { openAsNextStart } from "../support/next-start.ts";
import { createStatus, createUntilRefused, largeName } from "../support/post-plants.ts";
import { createEmptyStore } from "../support/seeded-store.ts";
import { missingIn, storedPlants } from "../support/stored-plants.ts";
import { lacksSyncShim, recordSyncs, serveRecorded } from "../support/syncs.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { runInProcess } from "../support/terminal.ts";

const folder = useFolderForEachTest();

describe.skipIf(lacksSyncShim())("an fsync that fails", () => {
  /** A service with one plant, of the id 0. A failure ends it without the drain delay, which is longer than a test may take. */
  async function serveWithPlant(
    path: string,
    syncs: ReturnType<typeof recordSyncs>,
    drainDelay = "60s",
  ): Promise<Serving> {
    await using cleanUp = new AsyncDisposableStack();
    const service = cleanUp.use(await serveRecorded(path, syncs, "--drain-delay", drainDelay));
    expect(await createStatus(service.url, 0)).toBe(200);
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

  interface Fault {
    readonly what: string;
    /** The end of the names of the files whose fsyncs fail. */
    readonly files: string;
    readonly how?: "once";
    readonly drainDelay?: string;
    /** Makes the service call fsync, and returns the ids of the plants that it acknowledged meanwhile. */
    readonly cause: (service: Serving) => Promise<number[]>;
  }

  const atCheckpoint: Fault = {
    what: "of the data file, by the checkpoint thread,",
    files: ".db",
    // Linux reports a failed write-back once; the next sync succeeds.
    how: "once",
    cause: (service) => createUntilFailed(service, largeName),
  };
  const atStop: Fault = {
    what: "of the data file, by the last checkpoint of a stop,",
    files: ".db",
    drainDelay: "0s",
    async cause(service) {
      service.child.kill("SIGTERM");
      return [];
    },
  };
  const atCommit: Fault = {
    what: "of the WAL, at a commit,",
    files: "-wal",
    cause: (service) => createUntilFailed(service, "fern"),
  };
  const atCommitInDelay: Fault = {
    what: "of the WAL, at a commit in the drain delay,",
    files: "-wal",
    async cause(service) {
      service.child.kill("SIGTERM");
      await eventually(() => service.err().includes("stopping"));
      return createUntilFailed(service, "fern");
    },
  };

  /** How a service with that fault ends, what it leaves, and what the next start makes of that. */
  const serveFailing = memoize(async (fault: Fault) => {
    using own = temporaryFolder();
    const path = join(own.path, "plants.db");
    const syncs = recordSyncs(own.path, fault.files, fault.how);
    await using service = await serveWithPlant(path, syncs, fault.drainDelay);
    syncs.injectFault();
    const acknowledged = await fault.cause(service);
    const { code, err } = await service.ended;
    const walBytes = statSync(`${path}-wal`).size;
    const markerMode = statSync(`${path}.failure.json`).mode;
    const { rebuilt } = openAsNextStart(path);
    return {
      code,
      err,
      walBytes,
      markerMode,
      rebuilt,
      acknowledged,
      missing: missingIn(path, [0, ...acknowledged]),
    };
  });

  describe.each([atCheckpoint, atStop, atCommit, atCommitInDelay])("$what", (fault) => {
    test("ends the service", async () => {
      const { code, err } = await serveFailing(fault);
      expect(code).toBe(1);
      expect(err).not.toContain("every acknowledged plant is on disk");
    });

    test("leaves the WAL", async () => {
      expect((await serveFailing(fault)).walBytes).toBeGreaterThan(0);
    });

    test("leaves a marker for its owner alone", async () => {
      expect((await serveFailing(fault)).markerMode & 0o077).toBe(0);
    });

    test("makes the next start rebuild the data file", async () => {
      expect((await serveFailing(fault)).rebuilt).toBe(true);
    });

    test("loses no acknowledged plant", async () => {
      expect((await serveFailing(fault)).missing).toEqual([]);
    });
  });

  test("of the WAL, at a commit, fails what was queued and everything after", async () => {
    expect((await serveFailing(atCommit)).acknowledged).toEqual([]);
  });

  test("of the WAL, at a commit and again in the next start, leaves everything for the start after", async () => {
    const syncs = recordSyncs(folder.path, "-wal");
    await using service = await serveWithPlant(folder.dataFile, syncs);
    syncs.injectFault();
    await atCommit.cause(service);
    await service.ended;

    // Every sync fails now: this start must not trust the page cache either.
    const failing = recordSyncs(folder.path, "");
    failing.injectFault();
    const again = await plantStore(["serve", "--database", folder.dataFile], {
      environment: failing.environment,
    });
    expect(again.code).toBe(1);
    expect(again.err).not.toContain("    at ");
    expect(openAsNextStart(folder.dataFile)).toEqual({ rebuilt: true });
    expect(missingIn(folder.dataFile, [0])).toEqual([]);
  });

  type Errno = "EIO" | "ENOSPC" | "EDQUOT";
  const reasons: [Errno, reason: string][] = [
    ["EIO", "EIO"],
    ["ENOSPC", "the disk is full"],
    ["EDQUOT", "the disk quota is exceeded"],
  ];
  const noSpace: Errno[] = ["ENOSPC", "EDQUOT"];

  /** Starts a service whose fsync fails with this error. Returns what it said and left, and what the next start made of that. */
  async function startFailing(path: string, syncs: ReturnType<typeof recordSyncs>, errno: Errno) {
    syncs.injectFault();
    const environment = { ...syncs.environment, FAIL_ERRNO: String(constants.errno[errno]) };
    const { code, err } = await plantStore(["serve", "--database", path], { environment });
    expect(code).toBe(1);
    const wal = statSync(`${path}-wal`, { throwIfNoEntry: false });
    const isMarked = existsSync(`${path}.failure.json`);
    const { rebuilt } = openAsNextStart(path);
    return { err, walBytes: wal?.size ?? 0, isMarked, rebuilt, plants: storedPlants(path) };
  }

  describe("of the WAL, in a start after a crash,", () => {
    const failWalInStart = memoize(async (errno: Errno) => {
      using own = temporaryFolder();
      const path = join(own.path, "plants.db");
      await crashedStore(path, 3);
      return await startFailing(path, recordSyncs(own.path, "-wal", "once"), errno);
    });

    test.each(reasons)("with %s is explained: %s", async (errno, reason) => {
      const { err } = await failWalInStart(errno);
      expect(err).toContain(reason);
    });

    test.each(reasons)("with %s loses no plant", async (errno) => {
      const { walBytes, plants } = await failWalInStart(errno);
      expect(walBytes).toBeGreaterThan(0);
      expect(plants).toHaveLength(3);
    });

    test("with EIO makes the next start rebuild the data file", async () => {
      expect(await failWalInStart("EIO")).toMatchObject({ isMarked: true, rebuilt: true });
    });

    test.each(noSpace)("with %s does not make the next start rebuild the data file", async (errno) => {
      expect(await failWalInStart(errno)).toMatchObject({ isMarked: false, rebuilt: false });
    });
  });

  describe("of the folder, in a start,", () => {
    const failFolderInStart = memoize(async (errno: Errno) => {
      using own = temporaryFolder();
      const path = join(own.path, "plants.db");
      createEmptyStore(path);
      // Not once: SQLite ignores what becomes of its own fsync of the folder.
      return await startFailing(path, recordSyncs(own.path, own.path), errno);
    });

    test.each(reasons)("with %s is explained in one line: %s", async (errno, reason) => {
      const { err } = await failFolderInStart(errno);
      expect(err).toContain(reason);
      expectOneLine(err);
    });

    test("with EIO makes the next start rebuild the data file", async () => {
      expect(await failFolderInStart("EIO")).toMatchObject({ isMarked: true, rebuilt: true });
    });

    test.each(noSpace)("with %s does not make the next start rebuild the data file", async (errno) => {
      expect(await failFolderInStart(errno)).toMatchObject({ isMarked: false, rebuilt: false });
    });
  });

  test("in a start that creates the tables keeps the WAL for a rebuild", async () => {
    const syncs = recordSyncs(folder.path, "-wal", "once");
    syncs.injectFault();
    const { code, err } = await plantStore(["serve", "--database", folder.dataFile], syncs);
    expect(code).toBe(1);
    expect(err).toContain("SQLITE_IOERR");
    expect(statSync(`${folder.dataFile}-wal`).size).toBeGreaterThan(0);
    expect(existsSync(`${folder.dataFile}.failure.json`)).toBe(true);
  });

  const createToken = (name: string) => ["token", "create", "--database", folder.dataFile, "--name", name];

  test("in a command keeps the WAL", async () => {
    expect((await runInProcess(createToken("first"))).code).toBe(0);
    const syncs = recordSyncs(folder.path, "-wal", "once");
    syncs.injectFault();
    expect((await plantStore(createToken("second"), syncs)).code).toBe(1);
    expect(statSync(`${folder.dataFile}-wal`).size).toBeGreaterThan(0);
  });

  test("of what a running service has committed keeps a command from writing", async () => {
    expect((await runInProcess(createToken("first"))).code).toBe(0);
    using service = openForWriting(folder.dataFile);
    service.database.run(
      "INSERT INTO plants (id, name, created_at_ms, created_by) VALUES (1, 'fern', 1, 'test')",
    );
    const walBytes = statSync(`${folder.dataFile}-wal`).size;
    const syncs = recordSyncs(folder.path, "-wal", "once");
    syncs.injectFault();
    expect((await plantStore(createToken("second"), syncs)).code).toBe(1);
    expect(statSync(`${folder.dataFile}-wal`).size).toBe(walBytes);
  });

  describe("of the folder with the rebuilt file", () => {
    /** Rebuilds a data file after a failed fsync by a command, in which the fsync of the folder fails. */
    async function failRebuild() {
      await crashedStore(folder.dataFile, 3);
      writeFileSync(`${folder.dataFile}.failure.json`, '{"reason":"sync-failed"}\n');
      const syncs = recordSyncs(folder.path, folder.path);
      const run = async () => (await plantStore(createToken("a"), syncs)).code;
      syncs.injectFault();
      expect(await run()).toBe(1);
      return { syncs, run };
    }

    test("keeps the old WAL", async () => {
      const { syncs } = await failRebuild();
      expect(statSync(`${folder.dataFile}-wal`).size).toBeGreaterThan(0);
      // The copy once by SQLite, and once with its mode and owner.
      const copy = `${folder.dataFile}.rebuilt`;
      expect(syncs.paths().slice(-4)).toEqual([
        copy,
        copy,
        `${folder.dataFile}.failure.json.new`,
        folder.path,
      ]);
    });

    test("leaves the rest of the rebuild to a later command", async () => {
      const { syncs, run } = await failRebuild();
      const failed = syncs.paths().length;
      syncs.removeFault();
      expect(await run()).toBe(0);
      expect(syncs.paths().slice(failed, failed + 2)).toEqual([folder.path, folder.path]);
      expect(storedPlants(folder.dataFile)).toHaveLength(3);
    });
  });
});
