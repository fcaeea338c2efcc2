// What a restore keeps out while it runs. What the command does is in test/sqlite/restore.test.ts and restore-in-place.test.ts.
import { expect, test } from "bun:test";
import { seedStore } from "../../../../test/support/seeded-store.ts";
import { temporaryFolder } from "../../../../test/support/temporary-folder.ts";
import type { OnStep } from "../../../plants/plant-backups.ts";
import { hasWriter } from "../data-file/writer-lock.ts";
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
