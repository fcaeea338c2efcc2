import { afterAll, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { markerFile, readMarker, removeMarker, writeMarker } from "./failure-marker.ts";

const folder = mkdtempSync(join(tmpdir(), "plant-store-marker-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("a failure is read as it was written, until it is removed", () => {
  const path = join(folder, "plants.db");
  expect(readMarker(path)).toBeUndefined();
  writeMarker(path, { reason: "replaced" });
  expect(readMarker(path)).toEqual({ reason: "replaced" });
  removeMarker(path);
  expect(readMarker(path)).toBeUndefined();
});

test("a truncated marker means a failed sync, and one that cannot be read is an error", () => {
  const path = join(folder, "cut.db");
  for (const text of ["", '{"reason":"repl']) {
    writeFileSync(markerFile(path), text);
    expect(readMarker(path)).toEqual({ reason: "sync-failed" });
  }
  rmSync(markerFile(path));
  mkdirSync(markerFile(path));
  expect(() => readMarker(path)).toThrow(/records a failure and cannot be read: EISDIR/);
});

test("a failure is recorded even if the folder was deleted", () => {
  const path = join(folder, "deleted", "data", "plants.db");
  writeMarker(path, { reason: "replaced" });
  expect(readMarker(path)).toEqual({ reason: "replaced" });
});
