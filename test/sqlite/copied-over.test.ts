// A data file that someone copies over, or that is missing where there was one: no plant is acknowledged into it, and no start takes
// it for what it is not.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { readMarker } from "../../src/storage/sqlite/data-file/failure-marker.ts";
import { foldersOfOld } from "../../src/storage/sqlite/opening/swap.ts";
import { serve } from "../support/command.ts";
import { crashedStore } from "../support/crashed-store.ts";
import { eventually } from "../support/eventually.ts";
import { useFolderForEachTest } from "../support/folder-for-each-test.ts";
import { createStatus, createUntilRefused, statusOf } from "../support/post-plants.ts";
import { seedStore } from "../support/seeded-store.ts";
import { storedPlants } from "../support/stored-plants.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { runInProcess } from "../support/terminal.ts";
import { startTestService } from "../support/test-service.ts";
import { accessTokenEnvironment } from "../support/tokens.ts";

const plants = 3000;
const made = temporaryFolder();
const store = join(made.path, "plants.db");
const name = "plants-2026-11-15T02-00-00-000Z.db";
const backup = join(made.path, name);
beforeAll(async () => {
  seedStore(store, { plants });
  await runInProcess(["backup", backup, "--database", store]);
});
afterAll(() => made[Symbol.dispose]());

const folder = useFolderForEachTest();
const run = (...args: string[]) =>
  runInProcess([...args, "--database", folder.dataFile], { environment: accessTokenEnvironment });

test("a data file that is copied over under load gets no more plants, and none of its WAL", async () => {
  await using service = await serve(["--database", folder.dataFile], {
    environment: accessTokenEnvironment,
  });
  const { acknowledged, refusals } = createUntilRefused(service.url, "under load");
  await eventually(() => acknowledged.length > 20);
  spawnSync("cp", [backup, folder.dataFile]);
  expect(await refusals).toEqual([50302, 50302, 50302, 50302]);
  expect(await createStatus(service.url, 1)).toBe(503);
  expect(await statusOf(service.url, "/livez")).toBe(200);
  expect(await statusOf(service.url, "/readyz")).toBe(503);
  expect(readMarker(folder.dataFile)).toBe("overwritten");
  service.child.kill("SIGTERM");
  expect((await service.ended).code).toBe(1);

  // SQLite deletes the WAL of a file that it finds empty, as cp leaves it for a moment.
  const wal = existsSync(`${folder.dataFile}-wal`)
    ? readFileSync(`${folder.dataFile}-wal`, "base64")
    : undefined;
  for (const command of ["serve", "list", "token create --name x", `restore ${backup}`]) {
    const { code, err } = await run(...command.split(" "));
    expect([command, code, err]).toEqual([command, 1, expect.stringContaining("restore")]);
  }
  const restored = await run("restore", backup, "--replace", "--json");
  const { before } = JSON.parse(restored.out);
  const moved = join(before, "plants.db-wal");
  expect(existsSync(moved) ? readFileSync(moved, "base64") : undefined).toBe(wal);
  await using _again = await startTestService({ database: folder.dataFile });
  expect(storedPlants(folder.dataFile)).toEqual(storedPlants(backup));
});

test("a backup copied over a crashed store is refused with the command that moves the WAL away, which works", async () => {
  await crashedStore(folder.dataFile, 8, { checkpointed: 3 });
  copyFileSync(backup, folder.dataFile);
  const filesOf = () => ["", "-wal"].map((end) => readFileSync(folder.dataFile + end, "base64"));
  const before = filesOf();
  for (const command of ["serve", "list", "verify", "token create --name x", "backup -", "doctor"]) {
    const { code, out, err } = await run(...command.split(" "));
    expect([command, code, err + out]).toEqual([
      command,
      1,
      expect.stringContaining(`${folder.dataFile}-wal belongs to another file`),
    ]);
  }
  expect(filesOf()).toEqual(before);
  const { err } = await run("serve");
  const [, command = ""] = /`(mkdir .* && mv .*)`/.exec(err) ?? [];
  expect(spawnSync("sh", ["-c", command]).status).toBe(0);
  await using service = await startTestService({ database: folder.dataFile });
  expect(storedPlants(folder.dataFile)).toEqual(storedPlants(backup));
  expect(await createStatus(service.url, 1)).toBe(200);
  const [moved = ""] = foldersOfOld(folder.dataFile);
  expect(readFileSync(join(moved, "plants.db-wal"), "base64")).toBe(before[1] ?? "");
});

test("a data file that is missing is not begun again where the set folder has a backup of it", async () => {
  const backups = join(folder.path, "backups");
  mkdirSync(backups);
  copyFileSync(backup, join(backups, name));
  for (const command of ["serve", "token create --name x"]) {
    const args = [...command.split(" "), "--database", folder.dataFile];
    const environment = { ...accessTokenEnvironment, PLANT_STORE_BACKUP_FOLDER: backups };
    const { code, err } = await runInProcess(args, { environment });
    expect([command, code, err]).toEqual([
      command,
      1,
      expect.stringContaining(`${join(backups, name)} is a backup of it. Is its disk mounted?`),
    ]);
  }
  expect(readdirSync(folder.path)).toEqual(["backups"]);
  expect((await run("restore", join(backups, name))).code).toBe(0);
  await using _service = await startTestService({ database: folder.dataFile, "backup-folder": backups });
  expect(storedPlants(folder.dataFile)).toHaveLength(plants);
});
