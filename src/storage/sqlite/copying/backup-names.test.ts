import { expect, test } from "bun:test";
import { BackupNames, timeInName } from "./backup-names.ts";

const names = new BackupNames("/data/plants.db");
const atMs = Date.UTC(2026, 10, 15, 2, 0, 0, 7);
const backup = "plants-2026-11-15T02-00-00-007Z.db";

test("a backup is named by its data file and its time, which is read from its name", () => {
  expect(names.at(atMs)).toBe(backup);
  expect(timeInName(`/backups/${backup}`)).toBe(atMs);
});

test("backups are in the order of their times, whatever the order of the folder", () => {
  const earlier = { name: names.at(atMs - 1), atMs: atMs - 1 };
  expect(names.backupsAmong([backup, earlier.name])).toEqual([earlier, { name: backup, atMs }]);
});

test("nothing else counts as a backup, such as the data file or a copy that is not complete", () => {
  const others = [
    "plants.db",
    "plants-old-2026-11-15T02-00-00-007Z.db",
    "plants-2026-13-15T02-00-00-007Z.db",
    "plants-before-the-update.db",
    `${backup}.sha256`,
    `${backup}.partial-0123456789ab`,
  ];
  expect(names.backupsAmong(others)).toEqual([]);
  expect([backup, ...others].filter((name) => names.isBackup(name))).toEqual([backup]);
});
