// An fsync fails: in a service under load, in its stop, in a start or in a command. Nothing that was acknowledged is lost. What a
// start does with the files is tested in process, in src/storage/sqlite/opening/open-for-writing.test.ts and lost-files.test.ts.
import { describe, expect, test } from "bun:test";
import { existsSync, statSync } from "node:fs";
import { constants } from "node:os";
import { basename, join } from "node:path";
import { whyFailureUnrecorded } from "../../src/storage/sqlite/data-file/failure-marker.ts";
import { openForWriting } from "../../src/storage/sqlite/opening/open-for-writing.ts";
import { foldersOfOld } from "../../src/storage/sqlite/opening/swap.ts";
import { expectOneLine, plantStore, type Serving } from "../support/command.ts";
import { crashedStore } from "../support/crashed-store.ts";
import { eventually } from "../support/eventually.ts";
import { useFolderForEachTest } from "../support/folder-for-each-test.ts";
import { openAsNextStart } from "../support/next-start.ts";
import { createStatus, createUntilRefused, largeName } from "../support/post-plants.ts";
import { createEmptyStore } from "../support/seeded-store.ts";
import { missingIn, storedPlants } from "../support/stored-plants.ts";
import { lacksSyncShim, recordSyncs, serveRecorded } from "../support/syncs.ts";
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

  test.each([atCheckpoint, atStop, atCommit, atCommitInDelay])(
    "$what ends the service, which leaves everything to a rebuild by the next start",
    async (fault) => {
      const syncs = recordSyncs(folder.path, fault.files, fault.how);
      await using service = await serveWithPlant(folder.dataFile, syncs, fault.drainDelay);
      syncs.injectFault();
      const acknowledged = await fault.cause(service);
      const { code, err } = await service.ended;
      expect(code).toBe(1);
      expect(err).not.toContain("every acknowledged plant is on disk");
      // What was queued fails, and everything after.
      if (fault === atCommit) expect(acknowledged).toEqual([]);
      expect(statSync(`${folder.dataFile}-wal`).size).toBeGreaterThan(0);
      // For its owner alone.
      expect(statSync(`${folder.dataFile}.failure.json`).mode & 0o077).toBe(0);
      expect(openAsNextStart(folder.dataFile)).toEqual({ rebuilt: true });
      expect(missingIn(folder.dataFile, [0, ...acknowledged])).toEqual([]);
    },
  );

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

  /** Starts a service whose fsync fails with this error, which says why. */
  async function startFailing(syncs: ReturnType<typeof recordSyncs>, errno: number, reason: string) {
    syncs.injectFault();
    const environment = { ...syncs.environment, FAIL_ERRNO: String(errno) };
    const { code, err } = await plantStore(["serve", "--database", folder.dataFile], { environment });
    expect(code).toBe(1);
    expect(err).toContain(reason);
    return { err, isMarked: existsSync(`${folder.dataFile}.failure.json`) };
  }

  // Without space nothing was written, so nothing needs a rebuild.
  describe.each([
    ["EIO", constants.errno.EIO, "EIO", true],
    ["ENOSPC", constants.errno.ENOSPC, "the disk is full", false],
    ["EDQUOT", constants.errno.EDQUOT, "the disk quota is exceeded", false],
  ])(
    "with %s is explained, and makes the next start rebuild the data file or not:",
    (_, errno, reason, rebuilds) => {
      test("of the WAL, in a start after a crash", async () => {
        await crashedStore(folder.dataFile, 3);
        const { isMarked } = await startFailing(recordSyncs(folder.path, "-wal", "once"), errno, reason);
        expect(isMarked).toBe(rebuilds);
        expect(statSync(`${folder.dataFile}-wal`).size).toBeGreaterThan(0);
        expect(openAsNextStart(folder.dataFile)).toEqual({ rebuilt: rebuilds });
        expect(storedPlants(folder.dataFile)).toHaveLength(3);
      });

      test("of the folder, in a start", async () => {
        createEmptyStore(folder.dataFile);
        // Not once: SQLite ignores what becomes of its own fsync of the folder.
        const { err, isMarked } = await startFailing(recordSyncs(folder.path, folder.path), errno, reason);
        expectOneLine(err);
        expect(isMarked).toBe(rebuilds);
        expect(openAsNextStart(folder.dataFile)).toEqual({ rebuilt: rebuilds });
      });
    },
  );

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

  test("of the folder in the swap leaves the rest to a later command, and the old files are kept once", async () => {
    await crashedStore(folder.dataFile, 3);
    whyFailureUnrecorded(folder.dataFile, "sync-failed");
    const syncs = recordSyncs(folder.path, folder.path);
    syncs.injectFault();
    for (const attempt of ["first", "second"])
      expect([attempt, (await plantStore(createToken("a"), syncs)).code]).toEqual([attempt, 1]);
    expect(statSync(`${folder.dataFile}-wal`).size).toBeGreaterThan(0);

    syncs.removeFault();
    expect((await plantStore(createToken("a"), syncs)).code).toBe(0);
    expect(storedPlants(folder.dataFile)).toHaveLength(3);
    expect(foldersOfOld(folder.dataFile)).toHaveLength(1);
    // They are a whole store.
    const [old = ""] = foldersOfOld(folder.dataFile);
    openAsNextStart(join(old, basename(folder.dataFile)));
    expect(storedPlants(join(old, basename(folder.dataFile)))).toHaveLength(3);
  });
});
