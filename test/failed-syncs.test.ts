import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { constants } from "node:os";
import { dirname, join } from "node:path";
import { plantStore, type Serving, serve } from "./command.ts";
import { accessToken, eventually, operatorToken, post, storedPlants, temporaryFolder } from "./harness.ts";
import { canRecordSyncs, recordSyncs } from "./syncs.ts";

const withToken = { PLANT_STORE_ACCESS_TOKEN: accessToken };
// Large, so that a few hundred plants fill the WAL until it is checkpointed.
const largeName = "x".repeat(60_000);

describe.skipIf(!canRecordSyncs)("an fsync that fails", () => {
  test.each([
    ["of the data file, at a checkpoint", ".db", largeName],
    ["of the WAL, at a commit", "-wal", "fern"],
  ])("%s stops the service, keeps the WAL, and loses nothing", async (_, suffix, name) => {
    using folder = temporaryFolder();
    const file = join(folder.path, "plants.db");
    const syncs = recordSyncs(folder.path, suffix);
    const service = await serve(["--database", file], {
      environment: { ...withToken, ...syncs.environment },
    });
    expect((await post(service.url, '{"id":0,"name":"before"}')).status).toBe(200);
    syncs.failFromNowOn();
    const acknowledged = await createUntilRefused(service, name);
    const { code, err } = await service.ended();
    expect(code).toBe(1);
    expect(err).not.toContain("every acknowledged plant is on disk");
    expect(statSync(`${file}-wal`).size).toBeGreaterThan(0);
    expect(existsSync(`${file}.failure.json`)).toBe(true);

    // Every sync fails now: the next start must not trust the page cache either.
    const again = await failedStart(file, { ...withToken, ...syncs.environment, FAIL_SUFFIX: "" });
    expect(again.code).toBe(1);
    expect(again.err).not.toContain("    at ");
    expect(statSync(`${file}-wal`).size).toBeGreaterThan(0);

    syncs.failNoMore();
    await using healed = await serve(["--database", file], { environment: withToken });
    expect(existsSync(`${file}.failure.json`)).toBe(false);
    expect((await fetch(`${healed.url}/readyz`)).status).toBe(200);
    const stored = new Set(storedPlants(file).map(({ id }) => Number(id)));
    for (let id = 0; id < acknowledged; id++) expect(stored.has(id)).toBe(true);
  });

  // Linux reports a failed write-back once; the next sync succeeds.
  test.each([
    ["of the data file, by the checkpoint thread", ".db", largeName, "once"],
    ["of the WAL", "-wal", "fern", "once"],
  ] as const)(
    "%s and no other stops the service immediately, with its WAL",
    async (_, suffix, name, only) => {
      using folder = temporaryFolder();
      const file = join(folder.path, "plants.db");
      const syncs = recordSyncs(folder.path, suffix, only);
      const service = await serve(["--database", file, "--drain-delay", "60s"], {
        environment: { ...withToken, ...syncs.environment },
      });
      syncs.failFromNowOn();
      await createUntilRefused(service, name);
      const { code, err } = await service.ended();
      expect([code, err]).toEqual([1, expect.not.stringContaining("every acknowledged plant is on disk")]);
      expect(statSync(`${file}-wal`).size).toBeGreaterThan(0);
      expect(statSync(`${file}.failure.json`).mode & 0o077).toBe(0);
    },
  );

  test("of the data file is never on the thread that answers requests", async () => {
    using folder = temporaryFolder();
    const file = join(folder.path, "plants.db");
    const syncs = recordSyncs(folder.path, ".db", "main thread");
    await using service = await serve(["--database", file], {
      environment: { ...withToken, ...syncs.environment },
    });
    syncs.failFromNowOn();
    const ofDataFile = () => syncs.seen().filter(({ path }) => path === file).length;
    const before = ofDataFile();
    for (let id = 1; ofDataFile() < before + 6; id++)
      expect((await post(service.url, JSON.stringify({ id, name: largeName }))).status).toBe(200);
    syncs.failNoMore();
  });

  test("in a start after a crash keeps the WAL, and the start after that does not trust the page cache", async () => {
    using folder = temporaryFolder();
    const file = join(folder.path, "plants.db");
    await crashed(file);
    const syncs = recordSyncs(folder.path, "-wal", "once");
    syncs.failFromNowOn();
    expect((await failedStart(file, { ...withToken, ...syncs.environment })).code).toBe(1);
    expect(statSync(`${file}-wal`).size).toBeGreaterThan(0);
    expect(existsSync(`${file}.failure.json`)).toBe(true);
    await using _healed = await serve(["--database", file], { environment: withToken });
    expect(storedPlants(file)).toHaveLength(3);
  });

  test("because the disk is full, in a start after a crash, is not a failed sync: the next start recovers", async () => {
    using folder = temporaryFolder();
    const file = join(folder.path, "plants.db");
    await crashed(file);
    const syncs = recordSyncs(folder.path, "-wal");
    syncs.failFromNowOn();
    const environment = { ...withToken, ...syncs.environment, FAIL_ERRNO: String(constants.errno.ENOSPC) };
    const { code, err } = await failedStart(file, environment);
    expect([code, err]).toEqual([1, expect.stringContaining("cannot be recovered: the disk is full")]);
    expect(existsSync(`${file}.failure.json`)).toBe(false);
    expect(statSync(`${file}-wal`).size).toBeGreaterThan(0);
    await using _recovered = await serve(["--database", file], { environment: withToken });
    expect(storedPlants(file)).toHaveLength(3);
  });

  test("of a folder, on a file system that cannot sync folders, is ignored", async () => {
    using folder = temporaryFolder();
    const file = join(folder.path, "new", "plants.db");
    const syncs = recordSyncs(folder.path, "/new");
    syncs.failFromNowOn();
    const environment = { ...withToken, ...syncs.environment, FAIL_ERRNO: String(constants.errno.EINVAL) };
    await using service = await serve(["--database", file], { environment });
    expect((await post(service.url, '{"id":1,"name":"fern"}')).status).toBe(200);
    expect(syncs.seen().map(({ path }) => path)).toContain(dirname(file));
  });

  test("in a command keeps the WAL", async () => {
    using folder = temporaryFolder();
    const file = join(folder.path, "plants.db");
    const create = ["token", "create", "--database", file, "--name"];
    expect((await plantStore([...create, "first"])).code).toBe(0);
    const syncs = recordSyncs(folder.path, "-wal", "once");
    syncs.failFromNowOn();
    expect((await plantStore([...create, "second"], { environment: syncs.environment })).code).toBe(1);
    expect(statSync(`${file}-wal`).size).toBeGreaterThan(0);
  });

  test("of what a running service has committed keeps a token command from writing", async () => {
    using folder = temporaryFolder();
    const file = join(folder.path, "plants.db");
    await using service = await serve(["--database", file], { environment: withToken });
    expect((await post(service.url, '{"id":1,"name":"fern"}')).status).toBe(200);
    const frames = statSync(`${file}-wal`).size;
    const syncs = recordSyncs(folder.path, "-wal", "once");
    syncs.failFromNowOn();
    const create = ["token", "create", "--name", "new", "--database", file];
    expect((await plantStore(create, { environment: syncs.environment })).code).toBe(1);
    expect(statSync(`${file}-wal`).size).toBe(frames);
  });

  test("prevents a start while another process has the file open", async () => {
    using folder = temporaryFolder();
    const file = join(folder.path, "plants.db");
    const syncs = recordSyncs(folder.path, "-wal");
    const service = await serve(["--database", file], {
      environment: { ...withToken, ...syncs.environment },
    });
    await post(service.url, '{"id":1,"name":"fern"}');
    using reader = new Database(file);
    reader.query("SELECT count(*) FROM plants").get();
    syncs.failFromNowOn();
    expect((await post(service.url, '{"id":2,"name":"fern"}')).status).toBe(503);
    await service.ended();
    syncs.failNoMore();
    const refused = await failedStart(file, withToken);
    expect(refused.code).toBe(1);
    expect(refused.err).toContain("another process has it open");
    reader.close();
    await using healed = await serve(["--database", file], { environment: withToken });
    expect((await post(healed.url, '{"id":1,"name":"fern"}')).headers.get("idempotent-replayed")).toBe(
      "true",
    );
  });
});

describe.skipIf(!canRecordSyncs)("an fsync that fails while the service stops", () => {
  test("makes the shutdown fail: the WAL stays, and the next start rebuilds the data file", async () => {
    using folder = temporaryFolder();
    const file = join(folder.path, "plants.db");
    const syncs = recordSyncs(folder.path, ".db");
    const service = await serve(["--database", file], {
      environment: { ...withToken, ...syncs.environment },
    });
    await post(service.url, '{"id":1,"name":"fern"}');
    syncs.failFromNowOn();
    service.child.kill("SIGTERM");
    const { code, err } = await service.ended();
    expect(code).toBe(1);
    expect(err).not.toContain("every acknowledged plant is on disk");
    expect(existsSync(`${file}.failure.json`)).toBe(true);
    expect(statSync(`${file}-wal`).size).toBeGreaterThan(0);
    syncs.failNoMore();
    const before = statSync(file).ino;
    await using healed = await serve(["--database", file], { environment: withToken });
    expect(statSync(file).ino).not.toBe(before);
    expect(healed.err()).toContain("rebuilding the data file after a failed fsync");
    expect((await post(healed.url, '{"id":1,"name":"fern"}')).headers.get("idempotent-replayed")).toBe(
      "true",
    );
  });
});

describe.skipIf(!canRecordSyncs)("the start after a failed fsync", () => {
  test("syncs the new file, then its folder and the marker, before the old WAL is removed", async () => {
    using folder = temporaryFolder();
    const file = join(folder.path, "plants.db");
    await crashed(file);
    mark(file);
    const syncs = recordSyncs(folder.path, "none");
    await using _service = await serve(["--database", file], {
      environment: { ...withToken, ...syncs.environment },
    });
    const paths = syncs.seen().map(({ path }) => path);
    const copied = paths.lastIndexOf(`${file}.rebuilt`);
    expect(copied).toBeGreaterThanOrEqual(0);
    const { path } = folder;
    expect(paths.slice(copied, copied + 5)).toEqual([
      `${file}.rebuilt`,
      `${file}.failure.json.new`,
      path,
      path,
      path,
    ]);
    expect(storedPlants(file)).toHaveLength(3);
  });

  test("keeps the WAL until the folder with the new file is synced", async () => {
    using folder = temporaryFolder();
    mkdirSync(join(folder.path, "data"));
    const file = join(folder.path, "data", "plants.db");
    await crashed(file);
    mark(file);
    const syncs = recordSyncs(folder.path, "/data");
    syncs.failFromNowOn();
    expect((await failedStart(file, { ...withToken, ...syncs.environment })).code).toBe(1);
    expect(statSync(`${file}-wal`).size).toBeGreaterThan(0);
    syncs.failNoMore();
    await using _healed = await serve(["--database", file], { environment: withToken });
    expect(storedPlants(file)).toHaveLength(3);
  });
});

describe.skipIf(!canRecordSyncs)("while an fsync of the WAL hangs", () => {
  test("probes are answered, no plant is acknowledged, and none is readable before it is durable", async () => {
    using folder = temporaryFolder();
    const file = join(folder.path, "plants.db");
    const syncs = recordSyncs(folder.path, "-wal", "hang");
    await using service = await serve(["--database", file], {
      environment: {
        ...withToken,
        ...syncs.environment,
        PLANT_STORE_OPERATOR_TOKEN: operatorToken,
        PLANT_STORE_OPERATOR_LISTEN: "127.0.0.1:0",
      },
    });
    const read = async (path: string) => {
      const headers = { authorization: `Bearer ${operatorToken}` };
      return (await fetch(`${service.operatorUrl}${path}`, { headers })).json();
    };
    expect(await read("/api/plants")).toMatchObject({ plants: [] });
    // A first stall is in place. After it, fsyncs are in the background for ten seconds.
    syncs.failFromNowOn();
    const stalled = post(service.url, '{"id":0,"name":"moss"}');
    await Bun.sleep(1100);
    syncs.failNoMore();
    expect((await stalled).status).toBe(200);
    expect(service.err()).toContain("the disk stalled; creates waited until it recovered");
    syncs.failFromNowOn();
    const ended: string[] = [];
    const ends = (what: string, work: Promise<unknown>) => work.then(() => ended.push(what));
    const all = [
      ends("create", post(service.url, '{"id":1,"name":"fern"}')),
      // Queued while the first one hangs.
      ends(
        "replay",
        Bun.sleep(50).then(() => post(service.url, '{"id":1,"name":"fern"}')),
      ),
      ends(
        "conflict",
        Bun.sleep(50).then(() => post(service.url, '{"id":1,"name":"oak"}')),
      ),
      ends(
        "list",
        Bun.sleep(100).then(() => read("/api/plants")),
      ),
      ends(
        "command",
        Bun.sleep(100).then(() => plantStore(["list", "--database", file], syncs)),
      ),
    ];
    await eventually(() => service.err().includes("the disk stalls; creates wait until it recovers"));
    expect((await fetch(`${service.url}/livez`)).status).toBe(200);
    expect((await fetch(`${service.url}/readyz`)).status).toBe(503);
    expect(ended).toEqual([]);
    syncs.failNoMore();
    await Promise.all(all);
    expect(await read("/api/plants")).toMatchObject({ plants: [{ id: "1" }, { id: "0" }] });
    expect((await fetch(`${service.url}/readyz`)).status).toBe(200);
    const counted = (line: string) => service.err().split(line).length - 1;
    expect(counted("the disk stalls; creates wait")).toBe(1);
    expect(counted("the disk stalled; creates waited")).toBe(2);
  });

  test("a failure of it is the outcome of everything that waited, and of everything after", async () => {
    using folder = temporaryFolder();
    const file = join(folder.path, "plants.db");
    const syncs = recordSyncs(folder.path, "-wal", "once");
    const service = await serve(["--database", file], {
      environment: { ...withToken, ...syncs.environment },
    });
    expect((await post(service.url, '{"id":0,"name":"before"}')).status).toBe(200);
    syncs.failFromNowOn();
    const status = (id: number) =>
      post(service.url, JSON.stringify({ id, name: "fern" })).then(
        (response) => response.status,
        () => 0,
      );
    const statuses = await Promise.all(Array.from({ length: 40 }, (_, index) => status(index + 1)));
    expect(new Set(statuses).has(200)).toBe(false);
    expect((await service.ended()).code).toBe(1);
    expect(statSync(`${file}-wal`).size).toBeGreaterThan(0);
  });
});

describe.skipIf(!canRecordSyncs)("what is synced", () => {
  test("by a start with a long-running reader is the WAL, truncated after its last transaction", async () => {
    using folder = temporaryFolder();
    const file = join(folder.path, "plants.db");
    await crashed(file);
    const wholeBytes = statSync(`${file}-wal`).size;
    writeFileSync(`${file}-wal`, Buffer.alloc(5000, 1), { flag: "a" });
    using reader = new Database(file);
    reader.run("BEGIN");
    reader.query("SELECT count(*) FROM plants").get();
    const syncs = recordSyncs(folder.path, "none");
    await using service = await serve(["--database", file], {
      environment: { ...withToken, ...syncs.environment },
    });
    expect(service.err()).toContain("another process has the data file open");
    expect(syncs.seen().map(({ path }) => path)).toContain(`${file}-wal`);
    expect(statSync(`${file}-wal`).size).toBe(wholeBytes);
  });

  test("by backup and restore is each file, then its folder and every new one", async () => {
    using folder = temporaryFolder();
    const file = join(folder.path, "plants.db");
    await stopped(file);
    const backups = join(folder.path, "backups");
    mkdirSync(backups);
    const backup = join(backups, "b.db");
    const syncs = recordSyncs(folder.path, "none");
    const run = (args: string[]) => plantStore(args, { environment: syncs.environment });
    expect((await run(["backup", backup, "--database", file])).code).toBe(0);
    const kept = syncs.seen().map(({ path }) => path);
    expect(kept).toEqual(expect.arrayContaining([`${backup}.partial`, `${backup}.sha256`]));
    expect(kept.slice(-3)).toEqual([backups, `${file}.last-backup.json.new`, folder.path]);
    const restored = join(folder.path, "new", "nested", "plants.db");
    expect((await run(["restore", backup, "--database", restored])).code).toBe(0);
    const paths = syncs.seen().map(({ path }) => path);
    const copied = paths.lastIndexOf(`${restored}.partial`);
    expect(copied).toBeGreaterThan(0);
    const folders = [dirname(restored), dirname(dirname(restored)), folder.path];
    expect(paths.slice(copied)).toEqual(expect.arrayContaining(folders));
  });

  test("of a lost data file is its failure marker, with mode 600, then the new folders", async () => {
    using folder = temporaryFolder();
    const file = join(folder.path, "data", "plants.db");
    const syncs = recordSyncs(folder.path, "none");
    await using service = await serve(["--database", file], {
      environment: { ...withToken, ...syncs.environment },
    });
    const before = syncs.seen().length;
    rmSync(dirname(file), { recursive: true });
    await eventually(() => service.err().includes("the data file was lost"));
    const marker = `${file}.failure.json`;
    expect(statSync(marker).mode & 0o077).toBe(0);
    const synced = new Set(
      syncs
        .seen()
        .slice(before)
        .map(({ path }) => path),
    );
    expect([...synced]).toEqual([`${marker}.new`, dirname(file), folder.path]);
  });

  test("is the WAL before every response, and every new folder before the first", async () => {
    using folder = temporaryFolder();
    const file = join(folder.path, "new", "nested", "plants.db");
    const syncs = recordSyncs(folder.path, "none");
    await using service = await serve(["--database", file], {
      environment: { ...withToken, ...syncs.environment },
    });
    const folders = [dirname(file), dirname(dirname(file)), folder.path];
    expect(syncs.seen().map(({ path }) => path)).toEqual(expect.arrayContaining(folders));
    for (let id = 1; id <= 20; id++) {
      const before = walSyncs();
      expect((await post(service.url, `{"id":${id},"name":"fern"}`)).status).toBe(200);
      expect(walSyncs()).toBeGreaterThan(before);
    }
    function walSyncs(): number {
      return syncs.seen().filter(({ path }) => path.endsWith("-wal")).length;
    }
  });

  test("at a checkpoint is the WAL before the data file, and the data file even if a reader limits the checkpoint", async () => {
    using folder = temporaryFolder();
    mkdirSync(join(folder.path, "data"));
    const file = join(folder.path, "data", "plants.db");
    const syncs = recordSyncs(folder.path, "none");
    await using service = await serve(["--database", file], {
      environment: { ...withToken, ...syncs.environment },
    });
    const main = String(service.child.pid);
    let id = 0;
    const create = async () => post(service.url, JSON.stringify({ id: id++, name: largeName }));
    for (let plants = 0; plants < 50; plants++) await create();
    // Frames after this transaction's snapshot cannot be checkpointed, so SQLite leaves the data file unsynced.
    using reader = new Database(file, { readonly: true });
    reader.run("BEGIN");
    reader.query("SELECT count(*) FROM plants").get();
    const ofDataFile = () => syncs.seen().find(({ thread, path }) => thread !== main && path === file);
    while (id < 400 && ofDataFile() === undefined) await create();
    await eventually(() => ofDataFile() !== undefined);
    const byThread = syncs.seen().filter(({ thread }) => thread === ofDataFile()?.thread);
    expect(byThread[0]?.path).toBe(`${file}-wal`);
  });
});

/** A data file with its WAL, as kill -9 leaves them. */
async function crashed(file: string): Promise<void> {
  await using service = await serve(["--database", file], { environment: withToken });
  for (let id = 1; id <= 3; id++)
    expect((await post(service.url, `{"id":${id},"name":"fern"}`)).status).toBe(200);
  service.child.kill("SIGKILL");
  await service.ended();
}

/** A data file after a graceful shutdown. */
async function stopped(file: string, plants = 3): Promise<void> {
  await using service = await serve(["--database", file], { environment: withToken });
  for (let id = 1; id <= plants; id++)
    await post(service.url, JSON.stringify({ id, name: `${id} ${"x".repeat(3000)}` }));
  service.child.kill("SIGTERM");
  expect((await service.ended()).code).toBe(0);
}

/** A data file as a process with a failed fsync leaves it. */
function mark(file: string): void {
  writeFileSync(`${file}.failure.json`, '{"reason":"sync-failed"}\n');
}

async function createUntilRefused(service: Serving, name: string): Promise<number> {
  for (let id = 1; id < 2000; id++) {
    const { status } = await post(service.url, JSON.stringify({ id, name })).catch(() => ({ status: 0 }));
    if (status !== 200) {
      expect(status).toBe(503);
      return id;
    }
  }
  throw new Error("the failing disk was never noticed");
}

async function failedStart(file: string, environment: Record<string, string>) {
  const service = await serve(["--database", file], { environment }).catch((error: Error) => error);
  if (service instanceof Error) return { code: 1, err: service.message };
  service.child.kill("SIGKILL");
  return service.ended();
}
