import { expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { temporaryFolder } from "../../../../test/support/temporary-folder.ts";
import { markerFile, readMarker } from "./failure-marker.ts";

test.each(["", '{"reason":"repl', "{}"])("a marker truncated to %j means a failed sync", (text) => {
  using folder = temporaryFolder();
  const path = join(folder.path, "marked.db");
  writeFileSync(markerFile(path), text);
  expect(readMarker(path)).toBe("sync-failed");
});

test("a marker that cannot be read is an error", () => {
  using folder = temporaryFolder();
  const path = join(folder.path, "marked.db");
  mkdirSync(markerFile(path));
  expect(() => readMarker(path)).toThrow(/records a failure and cannot be read: it is a directory\.$/);
});
