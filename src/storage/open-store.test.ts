import { afterAll, describe, expect, spyOn, test } from "bun:test";
import { existsSync, rmSync, writeFileSync } from "node:fs";
import * as fs from "node:fs/promises";
import { join } from "node:path";
import { caught } from "../../test/support/caught.ts";
import { createEmptyStore } from "../../test/support/seeded-store.ts";
import { temporaryFolder } from "../../test/support/temporary-folder.ts";
import { openServiceStore, openTokens, type StoreSetting } from "./open-store.ts";
import { BackupFolder } from "./sqlite/copying/backup-folder.ts";
import { lastBackupFile } from "./sqlite/data-file/last-backup.ts";

const folder = temporaryFolder();
afterAll(() => folder[Symbol.dispose]());
const withoutServer = { databasePassword: undefined, allowUnsafeDatabase: false };
const events = { databaseUnavailable: () => {}, databaseOpened: () => {}, plantsRewritten: () => {} };

/** A store that is gone with its record, as on a disk that is not mounted, and the folder that has its backup. */
async function goneStore(): Promise<StoreSetting & { readonly backupFolder: string }> {
  const database = join(folder.newFolder(), "plants.db");
  const backupFolder = folder.newFolder();
  createEmptyStore(database);
  await new BackupFolder(database, backupFolder).backUp(0);
  for (const path of [database, lastBackupFile(database)]) rmSync(path);
  return { database, backupFolder, ...withoutServer };
}

async function start(setting: Pick<StoreSetting, "database" | "backupFolder">): Promise<void> {
  await (await openServiceStore({ ...withoutServer, ...setting }, events))[Symbol.asyncDispose]();
}

describe("a missing data file", () => {
  test("of which there is a backup is not created by a service, nor with a first token", async () => {
    const setting = await goneStore();
    const backup = join(setting.backupFolder, "plants-1970-01-01T00-00-00-000Z.db");
    const refusal = `${setting.database} is missing or empty, but ${backup} is a backup of it. Is its disk mounted? If it is gone: \`plant-store restore ${backup} --replace --database ${setting.database}\`.`;
    const attempts = [() => start(setting), () => openTokens(setting, { mayCreate: true })];
    for (const attempt of attempts) {
      expect(String(await caught(attempt()))).toContain(refusal);
      expect(existsSync(setting.database)).toBe(false);
      // An empty one is none.
      writeFileSync(setting.database, "");
      expect(String(await caught(attempt()))).toContain(refusal);
      rmSync(setting.database);
    }
  });

  test("is created if the folder has backups of another one only, is missing, or does not respond", async () => {
    const { database, backupFolder } = await goneStore();
    await start({ database: join(folder.newFolder(), "other.db"), backupFolder });
    await start({ database: join(folder.newFolder(), "plants.db"), backupFolder: folder.newPath() });
    using _spy = spyOn(fs, "stat").mockReturnValue(new Promise(() => {}));
    await start({ database, backupFolder });
    expect(existsSync(database)).toBe(true);
  });
});

test("a store that is there is opened without a look at its backups", async () => {
  const { database, backupFolder } = await goneStore();
  createEmptyStore(database);
  using list = spyOn(BackupFolder.prototype, "list");
  await start({ database, backupFolder });
  expect(list).not.toHaveBeenCalled();
});
