// The -shm file, SQLite's index of the WAL, is deleted or replaced while the service runs: another process would create a new
// one, and write over what the service has written.
import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { StoreUnavailable } from "../../src/plants/plant-store.ts";
import { SqliteStore } from "../../src/storage/sqlite/sqlite-store.ts";
import { WalIndexLost } from "../../src/storage/store.ts";
import { plantStore, serve } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";
import { useFolderForEachTest } from "../support/folder-for-each-test.ts";
import { createStatus, createUntilRefused } from "../support/post-plants.ts";
import { missingIn, testPlant } from "../support/stored-plants.ts";
import { runInProcess } from "../support/terminal.ts";
import { startTestService } from "../support/test-service.ts";
import { accessTokenEnvironment } from "../support/tokens.ts";

const folder = useFolderForEachTest();

describe("a -shm file that is deleted while the service runs", () => {
  // A process of its own: the service relies on the time that one needs to start.
  const tokenCreate = (name: string) =>
    plantStore(["token", "create", "--name", name, "--database", folder.dataFile]);
  const tokens = async () => (await runInProcess(["token", "list", "--database", folder.dataFile])).out;

  async function expectStored(acknowledged: readonly number[]): Promise<void> {
    expect(existsSync(`${folder.dataFile}.failure.json`)).toBe(false);
    await using again = await startTestService({ database: folder.dataFile });
    expect(missingIn(folder.dataFile, acknowledged)).toEqual([]);
    expect(await createStatus(again.url, 99_999)).toBe(200);
    expect(await runInProcess(["verify", "--database", folder.dataFile])).toMatchObject({ code: 0 });
  }

  test.each([
    ["without requests", async () => ({ acknowledged: [], refusals: [] })],
    [
      "under load",
      async (url: string) => {
        const load = createUntilRefused(url, "under load");
        await eventually(() => load.acknowledged.length > 20);
        return load;
      },
    ],
  ])("ends it %s without a checkpoint, and loses no plant at the next start", async (_, startLoad) => {
    await using service = await serve(["--database", folder.dataFile], {
      environment: accessTokenEnvironment,
    });
    expect(await createStatus(service.url, 1)).toBe(200);
    const { acknowledged, refusals } = await startLoad(service.url);
    rmSync(`${folder.dataFile}-shm`);
    await refusals;
    const { code, err } = await service.ended;
    expect(code).toBe(1);
    expect(err).toContain("The -shm file was deleted or replaced while it was open.");
    expect(err).not.toContain("every acknowledged plant is on disk");
    expect(statSync(`${folder.dataFile}-wal`).size).toBeGreaterThan(0);
    await expectStored([1, ...acknowledged]);
  });

  test("stops it before it writes over what a command wrote that created the file again", async () => {
    await using service = await serve(["--database", folder.dataFile], {
      environment: accessTokenEnvironment,
    });
    expect(await createStatus(service.url, 1)).toBe(200);
    rmSync(`${folder.dataFile}-shm`);
    expect((await tokenCreate("first")).code).toBe(0);
    expect((await tokenCreate("second")).code).toBe(0);
    // It may have ended by now.
    expect(await createStatus(service.url, 2).catch(() => 503)).toBe(503);
    service.child.kill("SIGKILL");
    await service.ended;
    await expectStored([1]);
    expect(await tokens()).toContain("first");
    expect(await tokens()).toContain("second");
  });

  test("keeps the next transaction from writing to the WAL", async () => {
    await using store = new SqliteStore(folder.dataFile);
    await store.plants.create([testPlant(1)], 1);
    const wal = readFileSync(`${folder.dataFile}-wal`);
    rmSync(`${folder.dataFile}-shm`);
    // It looks for the file every 5 ms at most. The timer of the watch, which would find out too, does not run meanwhile.
    Bun.sleepSync(10);
    await expect(store.plants.create([testPlant(2)], 1)).rejects.toThrow(StoreUnavailable);
    expect(readFileSync(`${folder.dataFile}-wal`).equals(wal)).toBe(true);
  });

  test("loses no acknowledged plant if a command creates the file again under load", async () => {
    await using service = await serve(["--database", folder.dataFile], {
      environment: accessTokenEnvironment,
    });
    const { acknowledged, refusals } = createUntilRefused(service.url, "under load");
    await eventually(() => acknowledged.length > 50);
    rmSync(`${folder.dataFile}-shm`);
    const created = await tokenCreate("first");
    await refusals;
    expect((await service.ended).code).toBe(1);
    await expectStored(acknowledged);
    expect(created.code).toBe(0);
  });

  test("is noticed by the watch if another file replaces it", async () => {
    await using store = new SqliteStore(folder.dataFile);
    renameSync(`${folder.dataFile}-shm`, `${folder.dataFile}-away`);
    writeFileSync(`${folder.dataFile}-shm`, "");
    expect(await store.failure).toBeInstanceOf(WalIndexLost);
    expect(existsSync(`${folder.dataFile}.failure.json`)).toBe(false);
  });
});
