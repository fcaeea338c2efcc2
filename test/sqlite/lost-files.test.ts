// A data file or its WAL is lost or replaced while the service runs. lost-shm.test.ts loses the -shm file.
import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { existsSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { constants } from "node:os";
import { dirname, join } from "node:path";
import { readMarker } from "../../src/storage/sqlite/data-file/failure-marker.ts";
import { SqliteStore } from "../../src/storage/sqlite/sqlite-store.ts";
import { DataFileReplaced } from "../../src/storage/store.ts";
import { sendSecondSignal, serve } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";
import { useFolderForEachTest } from "../support/folder-for-each-test.ts";
import { startHeldPost } from "../support/held-post.ts";
import { lacks } from "../support/lacks.ts";
import { createStatus, createUntilRefused, statusOf } from "../support/post-plants.ts";
import { rescue } from "../support/rescue.ts";
import { createEmptyStore } from "../support/seeded-store.ts";
import { missingIn, storedPlants, testPlant } from "../support/stored-plants.ts";
import { runInProcess } from "../support/terminal.ts";
import { startTestService } from "../support/test-service.ts";
import { accessTokenEnvironment } from "../support/tokens.ts";

const folder = useFolderForEachTest();

const lostInLog = "the data file was lost";

// Elsewhere there is no /proc, and a backup has to be restored.
const noProc = lacks("/proc", process.platform !== "linux");

describe.skipIf(noProc)("a data file that is lost while the service runs", () => {
  const losses: [when: string, lose: (file: string) => void][] = [
    ["it is deleted with its folder", (file) => rmSync(dirname(file), { recursive: true })],
    ["another file takes its place", (file) => renameSync(join(folder.path, "other.db"), file)],
  ];

  test.each(losses)(
    "since %s is restored from what the service has open, which stays up",
    async (_, lose) => {
      const file = join(folder.path, "it's data", "plants.db");
      await using service = await startTestService({ database: file });
      createEmptyStore(join(folder.path, "other.db"));
      const { acknowledged, refusals } = createUntilRefused(service.url, "under load");
      await eventually(() => acknowledged.length > 20);
      lose(file);
      expect(await refusals).toEqual([50302, 50302, 50302, 50302]);
      await eventually(() => service.logged.join("").includes(lostInLog));
      expect(await statusOf(service.url, "/readyz")).toBe(503);
      expect(await statusOf(service.url, "/livez")).toBe(200);
      const restored = join(folder.path, "restored.db");
      const copy = join(folder.path, "rescued.db");
      rescue(process.pid, file, copy);
      expect(await runInProcess(["restore", copy, "--database", restored])).toMatchObject({ code: 0 });
      expect(missingIn(restored, acknowledged)).toEqual([]);
    },
  );

  test("keeps a process that was told to stop alive until a second signal", async () => {
    const limits = ["--drain-timeout", "10m", "--body-timeout", "10m"];
    await using service = await serve(["--database", folder.dataFile, ...limits], {
      environment: accessTokenEnvironment,
    });
    await createStatus(service.url, 1);
    // It keeps the stop from ending before the file is lost.
    const { finish, response } = await startHeldPost(Number(new URL(service.url).port));
    service.child.kill("SIGTERM");
    await eventually(() => service.err().includes("stopping: finishing requests"));
    rmSync(folder.dataFile);
    await eventually(() => service.err().includes(lostInLog));
    finish();
    expect((await response).text).toStartWith("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 503 ");
    const copy = join(folder.path, "rescued.db");
    rescue(service.child.pid ?? 0, folder.dataFile, copy);
    expect(service.child.exitCode).toBeNull();
    for (const command of ["list", "doctor", "backup b.db", `restore ${copy} --replace`]) {
      const { out, err } = await runInProcess([...command.split(" "), "--database", folder.dataFile]);
      expect(out + err).toContain("Do not stop it");
    }
    await sendSecondSignal(service, "SIGTERM");
    expect((await service.ended).code).toBe(128 + constants.signals.SIGTERM);
    expect(storedPlants(copy)).toHaveLength(1);
  });

  test.each([
    ["it is deleted", (file: string) => rmSync(file), "The data file was deleted", undefined],
    [
      "its WAL is replaced",
      (file: string) => {
        rmSync(`${file}-wal`);
        writeFileSync(`${file}-wal`, Buffer.alloc(8192));
      },
      "The WAL was deleted or replaced",
      "overwritten" as const,
    ],
    [
      "it is overwritten",
      (file: string) => writeFileSync(file, Buffer.alloc(8192)),
      "The data file was overwritten",
      "overwritten" as const,
    ],
  ])("is noticed by a last look if %s just before the store is closed", async (_, lose, reason, marker) => {
    const store = new SqliteStore(folder.dataFile);
    await store.plants.create([testPlant(1)], Date.now());
    lose(folder.dataFile);
    await store[Symbol.asyncDispose]();
    const failure = await store.failure;
    expect(failure).toBeInstanceOf(DataFileReplaced);
    expect(failure.message).toStartWith(reason);
    expect(readMarker(folder.dataFile)).toBe(marker);
    expect(statSync(`${folder.dataFile}-wal`).size).toBeGreaterThan(0);
  });

  test("counts as overwritten if it is emptied, although SQLite then deletes its WAL", async () => {
    const store = new SqliteStore(folder.dataFile);
    await store.plants.create([testPlant(1)], Date.now());
    writeFileSync(folder.dataFile, "");
    {
      using other = new Database(folder.dataFile);
      other.query("SELECT name FROM sqlite_schema").all();
    }
    expect(existsSync(`${folder.dataFile}-wal`)).toBe(false);
    await store[Symbol.asyncDispose]();
    expect(readMarker(folder.dataFile)).toBe("overwritten");
  });

  test("is reported in the log if the failure marker cannot be written", async () => {
    const data = join(folder.path, "data");
    await using service = await startTestService({ database: join(data, "plants.db") });
    rmSync(data, { recursive: true });
    writeFileSync(data, "in the way");
    await eventually(() => service.logged.join("").includes(lostInLog));
    expect(service.logged.join("")).toContain("the failure marker could not be written");
    expect(await createStatus(service.url, 2)).toBe(503);
  });
});
