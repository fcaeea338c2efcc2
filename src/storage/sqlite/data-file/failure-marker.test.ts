import { afterAll, expect, test } from "bun:test";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { temporaryFolder } from "../../../../test/support/temporary-folder.ts";
import {
  markerFile,
  readMarker,
  refuseMarked,
  removeMarker,
  whyFailureUnrecorded,
} from "./failure-marker.ts";

const folder = temporaryFolder();
afterAll(() => folder[Symbol.dispose]());

function marked(text: string): string {
  const path = folder.newPath();
  writeFileSync(markerFile(path), text);
  return path;
}

test("a marker is read as it was written, in a folder that was deleted too, and removed", () => {
  for (const reason of ["sync-failed", "overwritten"] as const) {
    const path = join(folder.newPath("deleted"), "plants.db");
    expect(readMarker(path)).toBeUndefined();
    expect(whyFailureUnrecorded(path, reason)).toBeUndefined();
    expect(readMarker(path)).toBe(reason);
    removeMarker(path);
    expect(existsSync(markerFile(path))).toBe(false);
  }
});

test("a marker that a failed sync has truncated means a failed sync", () => {
  const read = ["", '{"reason":"repl', "{}"].map((text) => readMarker(marked(text)));
  expect(read).toEqual(["sync-failed", "sync-failed", "sync-failed"]);
});

test("a marker that this version does not know is refused, one of a failed sync is not", () => {
  const unknown = marked('{"reason":"replaced"}');
  expect(() => refuseMarked(unknown, readMarker(unknown))).toThrow(
    /overwritten while the service ran.*: run `plant-store restore [A-Z]+ --replace`/,
  );
  const failed = marked('{"reason":"sync-failed"}');
  expect(() => refuseMarked(failed, readMarker(failed))).not.toThrow();
});

test("a marker that cannot be read is an error", () => {
  const path = folder.newPath();
  mkdirSync(markerFile(path));
  expect(() => readMarker(path)).toThrow(/\.failure\.json cannot be opened: it is a directory\.$/);
});
