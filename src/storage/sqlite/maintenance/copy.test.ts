import { expect, test } from "bun:test";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { temporaryFolder } from "../../../../test/support/temporary-folder.ts";
import { putInPlace } from "./copy.ts";

/** As on a file system that has no hard links. */
const noLinks = () => {
  throw Object.assign(new Error("operation not permitted, link"), { code: "EPERM" });
};

test.each([
  ["by a link", undefined],
  ["by a rename where there are no links", noLinks],
])("a complete copy gets its name %s, and never replaces a file that was created meanwhile", (_, link) => {
  using folder = temporaryFolder();
  const partial = join(folder.path, "a.partial");
  const path = join(folder.path, "a");
  writeFileSync(partial, "complete");
  putInPlace(partial, path, link);
  expect(readFileSync(path, "utf8")).toBe("complete");
  rmSync(partial, { force: true });
  writeFileSync(partial, "another one");
  expect(() => putInPlace(partial, path, link)).toThrow(/created meanwhile/);
  expect(readFileSync(path, "utf8")).toBe("complete");
  expect(existsSync(partial)).toBe(true);
  expect(() => putInPlace(join(folder.path, "missing"), join(folder.path, "b"))).toThrow(/ENOENT/);
});
