import { expect, test } from "bun:test";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
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

test("a marker that is a link to a device is an error, since reading it might not end", () => {
  using folder = temporaryFolder();
  const path = join(folder.path, "marked.db");
  symlinkSync("/dev/zero", markerFile(path));
  expect(() => readMarker(path)).toThrow(`${markerFile(path)} is not a small regular file; move it away.`);
});
