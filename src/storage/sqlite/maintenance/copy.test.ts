import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { temporaryFolder } from "../../../../test/support/temporary-folder.ts";
import { putInPlace } from "./copy.ts";

/** As on a file system that has no hard links. */
const noLinks = () => {
  throw Object.assign(new Error("operation not permitted, link"), { code: "EPERM" });
};

describe.each([
  ["by a link", undefined],
  ["by a rename where there are no links", noLinks],
])("a complete copy that gets its name %s", (_, link) => {
  test("is at that path", () => {
    using folder = temporaryFolder();
    const partial = folder.newPath("a.partial");
    const path = folder.newPath("a");
    writeFileSync(partial, "complete");
    putInPlace(partial, path, link);
    expect(readFileSync(path, "utf8")).toBe("complete");
  });

  test("never replaces a file that was created meanwhile", () => {
    using folder = temporaryFolder();
    const partial = folder.newPath("a.partial");
    const path = folder.newPath("a");
    writeFileSync(partial, "complete");
    writeFileSync(path, "of someone else");
    expect(() => putInPlace(partial, path, link)).toThrow(/created meanwhile/);
    expect(readFileSync(path, "utf8")).toBe("of someone else");
    expect(existsSync(partial)).toBe(true);
  });
});

test("a copy that is missing is an error", () => {
  using folder = temporaryFolder();
  expect(() => putInPlace(folder.newPath("missing"), folder.newPath("b"))).toThrow(
    /b cannot be created: no such file or directory\.$/,
  );
});
