// A data file that a service has open: which commands may use it beside that, and which are refused.
import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { instantSleeps } from "../support/clock.ts";
import { expectOneLine } from "../support/command.ts";
import { crashedStore } from "../support/crashed-store.ts";
import { useFolderForEachTest } from "../support/folder-for-each-test.ts";
import { createStatus } from "../support/post-plants.ts";
import { createEmptyStore } from "../support/seeded-store.ts";
import { storedPlants } from "../support/stored-plants.ts";
import { runInProcess } from "../support/terminal.ts";
import { startTestService } from "../support/test-service.ts";
import { accessTokenEnvironment } from "../support/tokens.ts";

const folder = useFolderForEachTest();

async function refusedStart(file: string): Promise<string> {
  const { code, err, out } = await runInProcess(["serve", "--database", file], {
    environment: accessTokenEnvironment,
  });
  expect(code).toBe(1);
  expect(out).toBe("");
  expectOneLine(err);
  return err;
}

describe("a data file that a service writes to", () => {
  const command = (...args: string[]) => runInProcess([...args, "--database", folder.dataFile]);

  test("is refused to a second service, by any name, and as the target of copy", async () => {
    await using _service = await startTestService({ database: folder.dataFile });
    const link = join(folder.path, "link.db");
    symlinkSync(folder.dataFile, link);
    using _sleeps = instantSleeps();
    for (const name of [folder.dataFile, link])
      expect(await refusedStart(name)).toContain("is in use: another plant-store process writes to it");
    const other = join(folder.path, "other.db");
    createEmptyStore(other);
    const { code, err } = await runInProcess(["copy", "--from", other, "--to", folder.dataFile]);
    expect(code).toBe(1);
    expect(err).toContain("is in use");
  });

  test("is backed up, read by list and written by token create, and then by the service as before", async () => {
    await using service = await startTestService({ database: folder.dataFile });
    await createStatus(service.url, 1);
    const backup = join(folder.path, "backup.db");
    expect((await command("backup", backup)).code).toBe(0);
    expect(storedPlants(backup)).toMatchObject([{ id: 1n }]);
    expect((await command("list")).out).toContain("fern");
    expect((await command("token", "create", "--name", "greenhouse")).code).toBe(0);
    expect((await command("token", "list")).out).toContain("greenhouse");
    expect(await createStatus(service.url, 2)).toBe(200);
  });
});

test("a restore is refused while another process holds the lock of a file that does not exist yet", async () => {
  const backup = join(folder.path, "backup.db");
  await crashedStore(backup, 1, { checkpointed: 1 });
  using holder = new Database(`${folder.dataFile}.lock`);
  holder.run("BEGIN EXCLUSIVE");
  {
    using _sleeps = instantSleeps();
    const { code, err } = await runInProcess(["restore", backup, "--database", folder.dataFile]);
    expect(code).toBe(1);
    expect(err).toContain("but a process writes to it");
  }
  holder.run("ROLLBACK");
  expect((await runInProcess(["restore", backup, "--database", folder.dataFile])).code).toBe(0);
});

test("a data file that another process reads by the same name is served", async () => {
  createEmptyStore(folder.dataFile);
  using reader = new Database(folder.dataFile);
  reader.run("BEGIN");
  reader.query("SELECT count(*) FROM plants").get();
  await using service = await startTestService({ database: folder.dataFile });
  expect(await createStatus(service.url, 1)).toBe(200);
});
