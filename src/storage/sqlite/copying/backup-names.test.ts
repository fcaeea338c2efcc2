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

test("a backup that is not complete is not among the backups", () => {
  const partial = `${backup}.partial`;
  expect(names.backupsAmong([partial])).toEqual([]);
  expect(names.partialsAmong([partial])).toEqual([{ name: partial, atMs }]);
});

test.each([
  ["the data file", "plants.db"],
  ["a backup of another data file", "plants-old-2026-11-15T02-00-00-007Z.db"],
  ["a checksum file", `${backup}.sha256`],
  ["a time that does not exist", "plants-2026-13-15T02-00-00-007Z.db"],
  ["a name of the operator's own", "plants-before-the-update.db"],
])("%s does not count as a backup", (_, name) => {
  expect(names.backupsAmong([name])).toEqual([]);
});
