import { expect, test } from "bun:test";
import { backupName, parseBackupName } from "./backup-names.ts";

test("a backup is named by its data file and its time, which are read from its name", () => {
  const atMs = Date.UTC(2026, 10, 15, 2, 0, 0, 7);
  expect(backupName("plants", atMs)).toBe("plants-2026-11-15T02-00-00-007Z.db");
  expect(parseBackupName(backupName("plants", atMs))).toEqual({ stem: "plants", atMs });
  expect(parseBackupName(backupName("plants-old", atMs))).toEqual({ stem: "plants-old", atMs });
});

test("nothing else counts as a backup, such as the data file or a copy that is not complete", () => {
  const others = [
    "plants.db",
    "2026-11-15T02-00-00-007Z.db",
    "plants-2026-13-15T02-00-00-007Z.db",
    "plants-before-the-update.db",
    "plants-2026-11-15T02-00-00-007Z.db.sha256",
    "plants-2026-11-15T02-00-00-007Z.db.partial-0123456789ab",
  ];
  expect(others.filter((name) => parseBackupName(name) !== undefined)).toEqual([]);
});
