import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { useFolderForEachTest } from "../../../../test/support/folder-for-each-test.ts";
import { readMarker } from "./failure-marker.ts";
import { recordSyncFailure } from "./left-open.ts";

const folder = useFolderForEachTest();

test("a failed sync is recorded for the next start", () => {
  const path = folder.dataFile;
  using database = new Database(":memory:");
  expect(recordSyncFailure(path, "A sync failed.", database).message).toBe(
    `${path} cannot be used: A sync failed.`,
  );
  expect(readMarker(path)).toBe("sync-failed");
});

test("a failed sync that cannot be recorded says that the machine must be rebooted first", () => {
  const path = join(folder.path, "file", "plants.db");
  writeFileSync(join(folder.path, "file"), "");
  using database = new Database(":memory:");
  const { message } = recordSyncFailure(path, "A sync failed.", database);
  expect(message).toStartWith(
    `${path} cannot be used: A sync failed. The failure marker could not be written either; reboot before the next start: `,
  );
});
