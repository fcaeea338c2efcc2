import { afterAll, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { markerFile, readMarker, removeMarker, writeMarker } from "./failure-marker.ts";
import { saveCopy } from "./maintenance/save-copy.ts";

const folder = mkdtempSync(join(tmpdir(), "plant-store-marker-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("a failure is read as it was written, until it is removed", () => {
  const path = join(folder, "plants.db");
  expect(readMarker(path)).toBeUndefined();
  writeMarker(path, { reason: "replaced", copy: "somewhere" });
  expect(readMarker(path)).toEqual({ reason: "replaced", copy: "somewhere" });
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

test("a copy that fails leaves neither a file nor a marker that names it", async () => {
  const data = join(folder, "data");
  mkdirSync(data);
  const failing = () => Promise.reject(new Error("the disk is full"));
  await expect(saveCopy(join(data, "plants.db"), failing)).rejects.toThrow("the disk is full");
  expect(readdirSync(data)).toEqual([]);
});
