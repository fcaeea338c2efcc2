// What has been synced, and in which order, when a plant is acknowledged, a checkpoint ends, or a backup or a restore is done.
import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { mkdirSync, statSync, writeFileSync } from "node:fs";
import { constants } from "node:os";
import { dirname, join } from "node:path";
import { inspectWal } from "../../src/storage/sqlite/data-file/wal-file.ts";
import { plantStore, type Serving, serve } from "../support/command.ts";
import { crashedStore } from "../support/crashed-store.ts";
import { eventually } from "../support/eventually.ts";
import { useFolderForEachTest } from "../support/folder-for-each-test.ts";
import { largeName, post } from "../support/post-plants.ts";
import { lacksSyncShim, recordSyncs, serveRecorded } from "../support/syncs.ts";
import { runInProcess } from "../support/terminal.ts";
import { accessTokenEnvironment } from "../support/tokens.ts";

const folder = useFolderForEachTest();

describe.skipIf(lacksSyncShim())("what is synced", () => {
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
    const file = join(folder.path, "new", "nested", "plants.db");
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

  test("before every response is the WAL, and at a checkpoint before the data file on a thread of its own", async () => {
    const syncs = recordSyncs(folder.path, "none");
    await using service = await serveRecorded(folder.dataFile, syncs);
    await createSynced(service, syncs, 0, "fern");
    // Frames after this transaction's snapshot cannot be checkpointed, so SQLite leaves the data file unsynced.
    using reader = new Database(folder.dataFile, { readonly: true });
    reader.run("BEGIN");
    reader.query("SELECT count(*) FROM plants").get();
    const started = syncs.seen().length;
    const ofDataFile = () => syncs.seen(started).filter(({ path }) => path === folder.dataFile);
    for (let id = 1; ofDataFile().length === 0; id++) await createSynced(service, syncs, id, largeName);
    const threads = new Set(ofDataFile().map(({ thread }) => thread));
    expect(threads.has(String(service.child.pid))).toBe(false);
    expect(syncs.seen().find(({ thread }) => threads.has(thread))?.path).toBe(`${folder.dataFile}-wal`);
  });

  test("when the data file is overwritten is the marker that says so", async () => {
    const syncs = recordSyncs(folder.path, "none");
    await using _service = await serveRecorded(folder.dataFile, syncs);
    writeFileSync(folder.dataFile, "");
    await eventually(
      () => syncs.paths().includes(`${folder.dataFile}.failure.json.new`),
      "the marker's sync",
    );
  });

  test("by a start with a long-running reader is the WAL, truncated after its last transaction", async () => {
    await crashedStore(folder.dataFile, 3);
    const wal = inspectWal(`${folder.dataFile}-wal`);
    const wholeBytes = wal.kind === "sound" ? wal.committedBytes : 0;
    writeFileSync(`${folder.dataFile}-wal`, Buffer.alloc(5000, 1), { flag: "a" });
    using reader = new Database(folder.dataFile);
    reader.run("BEGIN");
    reader.query("SELECT count(*) FROM plants").get();
    const syncs = recordSyncs(folder.path, "none");
    await using service = await serveRecorded(folder.dataFile, syncs);
    expect(service.err()).toContain("another process has the data file open");
    expect(syncs.paths()).toContain(`${folder.dataFile}-wal`);
    expect(statSync(`${folder.dataFile}-wal`).size).toBe(wholeBytes);
    const replay = await post(service.url, '{"id":1,"name":"fern"}');
    expect(replay.headers.get("idempotent-replayed")).toBe("true");
  });

  test("by a backup is each file before its folder", async () => {
    const backup = join(folder.path, "backups", "b.db");
    mkdirSync(dirname(backup));
    await crashedStore(folder.dataFile, 3);
    const syncs = recordSyncs(folder.path, "none");
    expect((await plantStore(["backup", backup, "--database", folder.dataFile], syncs)).code).toBe(0);
    // The copy once by SQLite and once by us.
    expect(syncs.paths().slice(-6)).toEqual([
      expect.stringMatching(/b\.db\.partial-\w+$/),
      expect.stringMatching(/b\.db\.partial-\w+$/),
      `${backup}.sha256`,
      dirname(backup),
      `${folder.dataFile}.last-backup.json.new`,
      folder.path,
    ]);
  });

  test("by a restore is each new folder, and the file before its own", async () => {
    const backup = join(folder.path, "backup.db");
    const restored = join(folder.path, "new", "nested", "plants.db");
    await crashedStore(folder.dataFile, 3);
    expect((await runInProcess(["backup", backup, "--database", folder.dataFile])).code).toBe(0);
    const syncs = recordSyncs(folder.path, "none");
    expect((await plantStore(["restore", backup, "--database", restored], syncs)).code).toBe(0);
    const copied = syncs.paths().lastIndexOf(`${restored}.replacement`);
    expect(copied).toBeGreaterThanOrEqual(0);
    expect(syncs.paths().slice(copied)).toContain(dirname(restored));
    expect(syncs.paths()).toEqual(expect.arrayContaining([dirname(dirname(restored)), folder.path]));
  });

  test("by a restore --replace is the copy, then both names of the old file, and the new one before the WAL is moved", async () => {
    const backup = join(folder.path, "backup.db");
    await crashedStore(folder.dataFile, 3);
    expect((await runInProcess(["backup", backup, "--database", folder.dataFile])).code).toBe(0);
    const syncs = recordSyncs(folder.path, "none");
    const args = ["restore", backup, "--replace", "--json", "--database", folder.dataFile];
    const { before } = JSON.parse((await plantStore(args, syncs)).out);
    const copied = syncs.paths().lastIndexOf(`${folder.dataFile}.replacement`);
    const swap = syncs.paths().slice(copied + 1, copied + 6);
    expect(swap).toEqual([before, folder.path, folder.path, before, folder.path]);
  });
});
