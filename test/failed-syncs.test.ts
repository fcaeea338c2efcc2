import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { type Serving, serve } from "./command.ts";
import { accessToken, eventually, post, storedPlants, temporaryFolder } from "./harness.ts";
import { maySeeSyncs, watchSyncs } from "./syncs.ts";

const withToken = { PLANT_STORE_ACCESS_TOKEN: accessToken };
// Large, so that a few hundred plants fill the WAL to where it is checkpointed.
const largeName = "x".repeat(60_000);

describe.skipIf(!maySeeSyncs)("an fsync that fails", () => {
  test.each([
    ["of the data file, at a checkpoint", ".db", largeName],
    ["of the WAL, at a commit", "-wal", "fern"],
  ])("%s ends the service, keeps the WAL, and loses nothing", async (_, suffix, name) => {
    using folder = temporaryFolder();
    const file = join(folder.path, "plants.db");
    const syncs = watchSyncs(folder.path, suffix);
    const service = await serve(["--database", file], {
      environment: { ...withToken, ...syncs.environment },
    });
    expect((await post(service.url, '{"id":0,"name":"before"}')).status).toBe(200);
    syncs.failFromNowOn();
    const acknowledged = await createUntilRefused(service, name);
    const { code, err } = await service.ended();
    expect(code).toBe(1);
    expect(err).not.toContain("everything answered is on disk");
    expect(statSync(`${file}-wal`).size).toBeGreaterThan(0);
    expect(existsSync(`${file}.failure.json`)).toBe(true);

    // A disk on which every sync fails: the next start must not believe the page cache either.
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

  test("is not forgotten while another process has the file open", async () => {
    using folder = temporaryFolder();
    const file = join(folder.path, "plants.db");
    const syncs = watchSyncs(folder.path, "-wal");
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

describe.skipIf(!maySeeSyncs)("an fsync that fails while the service stops", () => {
  test("is no clean stop: the WAL stays, and the next start rebuilds the data file", async () => {
    using folder = temporaryFolder();
    const file = join(folder.path, "plants.db");
    const syncs = watchSyncs(folder.path, ".db");
    const service = await serve(["--database", file], {
      environment: { ...withToken, ...syncs.environment },
    });
    await post(service.url, '{"id":1,"name":"fern"}');
    syncs.failFromNowOn();
    service.child.kill("SIGTERM");
    const { code, err } = await service.ended();
    expect(code).toBe(1);
    expect(err).not.toContain("everything answered is on disk");
    expect(existsSync(`${file}.failure.json`)).toBe(true);
    expect(statSync(`${file}-wal`).size).toBeGreaterThan(0);
    syncs.failNoMore();
    const before = statSync(file).ino;
    await using healed = await serve(["--database", file], { environment: withToken });
    expect(statSync(file).ino).not.toBe(before);
    expect((await post(healed.url, '{"id":1,"name":"fern"}')).headers.get("idempotent-replayed")).toBe(
      "true",
    );
  });
});

describe.skipIf(!maySeeSyncs)("what is synced", () => {
  test("is the WAL before every answer, and every new folder before the first", async () => {
    using folder = temporaryFolder();
    const file = join(folder.path, "new", "nested", "plants.db");
    const syncs = watchSyncs(folder.path, "none");
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

  test("at a checkpoint is the WAL before the data file, and the data file also where a reader keeps its end", async () => {
    using folder = temporaryFolder();
    mkdirSync(join(folder.path, "data"));
    const file = join(folder.path, "data", "plants.db");
    const syncs = watchSyncs(folder.path, "none");
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
    const byThread = () =>
      syncs.seen().filter(({ thread, path }) => thread !== main && path.startsWith(file));
    while (id < 400 && byThread().length === 0) await create();
    await eventually(() => byThread().some(({ path }) => path === file));
    expect(byThread()[0]?.path).toBe(`${file}-wal`);
  });
});

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
  return service.ended();
}
