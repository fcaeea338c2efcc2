// The -shm file, SQLite's index of the WAL, is deleted or replaced while the service runs: the data file and the WAL have
// everything, and the next start recovers them.
import { expect, test } from "bun:test";
import { existsSync, rmSync, statSync } from "node:fs";
import { serve } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";
import { useFolderForEachTest } from "../support/folder-for-each-test.ts";
import { createStatus, createUntilRefused } from "../support/post-plants.ts";
import { missingIn } from "../support/stored-plants.ts";
import { runInProcess } from "../support/terminal.ts";
import { startTestService } from "../support/test-service.ts";
import { accessTokenEnvironment } from "../support/tokens.ts";

const folder = useFolderForEachTest();

test("a -shm file that is deleted while the service runs ends it without a checkpoint, and loses no plant at the next start", async () => {
  await using service = await serve(["--database", folder.dataFile], {
    environment: accessTokenEnvironment,
  });
  const { acknowledged, refusals } = createUntilRefused(service.url, "under load");
  await eventually(() => acknowledged.length > 20);
  rmSync(`${folder.dataFile}-shm`);
  await refusals;
  const { code, err } = await service.ended;
  expect(code).toBe(1);
  expect(err).toContain("The -shm file was deleted or replaced while it was open.");
  expect(err).not.toContain("every acknowledged plant is on disk");
  expect(statSync(`${folder.dataFile}-wal`).size).toBeGreaterThan(0);

  expect(existsSync(`${folder.dataFile}.failure.json`)).toBe(false);
  await using again = await startTestService({ database: folder.dataFile });
  expect(missingIn(folder.dataFile, acknowledged)).toEqual([]);
  expect(await createStatus(again.url, 99_999)).toBe(200);
  expect(await runInProcess(["verify", "--database", folder.dataFile])).toMatchObject({ code: 0 });
});
