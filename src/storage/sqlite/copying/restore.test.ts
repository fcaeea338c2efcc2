// What a restore keeps out while it runs. What the command does is in test/sqlite/restore.test.ts and restore-in-place.test.ts.
import { expect, test } from "bun:test";
import { caught } from "../../../../test/support/caught.ts";
import { seedStore } from "../../../../test/support/seeded-store.ts";
import { temporaryFolder } from "../../../../test/support/temporary-folder.ts";
import type { OnStep } from "../../../plants/plant-backups.ts";
import { DataFileProblem } from "../data-file/data-file-problem.ts";
import { hasWriter } from "../data-file/writer-lock.ts";
import { writeBackup } from "./backup.ts";
import { lockCopyTo } from "./copy.ts";
import { restoreInPlace, restoreToNewFile } from "./restore.ts";

test.each([
  ["of a data file that does not exist", restoreToNewFile],
  ["with --replace, where there is none", restoreInPlace],
])("no service can start on the data file during a restore %s", async (_, run) => {
  using folder = temporaryFolder();
  const backup = folder.newPath("backup.db");
  const path = folder.newPath("plants.db");
  seedStore(backup, { plants: 3 });
  const lockedDuring = new Map<string, boolean>();
  const onStep: OnStep = ({ doing }) => {
    lockedDuring.set(doing, hasWriter(path));
  };

  await run(backup, path, () => {}, onStep);

  expect(lockedDuring.get("copying")).toBe(true);
  expect(lockedDuring.get("comparing the plants of")).toBe(true);
  expect(hasWriter(path)).toBe(false);
});

test.each([
  ["restore", restoreToNewFile],
  ["restore --replace", restoreInPlace],
])("of a backup and a %s to one file at the same time, the second is refused", async (_, restore) => {
  using folder = temporaryFolder();
  const from = folder.newPath("from.db");
  const to = folder.newPath("to.db");
  seedStore(from, { plants: 3 });
  const refused = new DataFileProblem(
    `Another backup or restore to ${to} is running; wait for it to finish.`,
  );
  {
    // As the backup holds it while it writes the file.
    using _backup = lockCopyTo(to);
    expect(await caught(restore(from, to, () => {}))).toEqual(refused);
  }
  let backup: Promise<unknown> | undefined;
  const onStep: OnStep = ({ doing }) => {
    if (doing === "copying") backup ??= caught(writeBackup(from, to));
  };
  const { plants } = await restore(from, to, () => {}, onStep);
  expect(await backup).toEqual(refused);
  expect(plants).toBe(3);
});
