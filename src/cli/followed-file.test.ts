import { expect, test } from "bun:test";
import { closeSync, ftruncateSync, openSync, readFileSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { useFolderForEachTest } from "../../test/support/folder-for-each-test.ts";
import { FollowedFile } from "./followed-file.ts";

const folder = useFolderForEachTest();

const lineOf = (id: number, name = "Fern") =>
  `${JSON.stringify({ id, name, createdAt: "2026-11-19T00:00:00.000Z", createdBy: "t", cursor: `c${id}` })}\n`;
const linesOf = (ids: readonly number[]) => ids.map((id) => lineOf(id)).join("");
const upTo = (count: number) => Array.from({ length: count }, (_, index) => index + 1);

/** Opens the file, and returns where it goes on, and what it then has. */
function opened(path: string) {
  using file = new FollowedFile(path);
  return { cursor: file.cursor, text: readFileSync(path, "utf8") };
}

test("a file goes on after its last plant", () => {
  const path = join(folder.path, "plants.ndjson");
  {
    using file = new FollowedFile(path);
    expect(file.cursor).toBeUndefined();
    file.append(linesOf([1, 2]));
    file.append(linesOf([3]));
  }
  expect(opened(path)).toEqual({ cursor: "c3", text: linesOf([1, 2, 3]) });
});

test("whatever a crash leaves of the last page is cut off from the first line that is not whole", () => {
  const path = join(folder.path, "plants.ndjson");
  const page = Buffer.from(linesOf(upTo(20)));
  const crash = fc.record({
    before: fc.constantFrom(0, 1, 1500),
    from: fc.nat(page.length),
    zeros: fc.nat(400),
    end: fc.nat(page.length),
  });
  fc.assert(
    fc.property(crash, ({ before, from, zeros, end }) => {
      const earlier = linesOf(upTo(before));
      writeFileSync(path, earlier + page);
      // A part of it never reached the disk, or its end did not.
      const descriptor = openSync(path, "r+");
      const hole = Math.min(zeros, page.length - from);
      writeSync(descriptor, Buffer.alloc(hole), 0, hole, earlier.length + from);
      ftruncateSync(descriptor, earlier.length + end);
      closeSync(descriptor);
      const { cursor, text } = opened(path);
      const whole =
        page
          .subarray(0, hole === 0 ? end : Math.min(end, from))
          .toString()
          .split("\n").length - 1;
      expect(text).toBe(earlier + linesOf(upTo(whole)));
      expect(cursor).toBe(whole > 0 ? `c${whole}` : before > 0 ? `c${before}` : undefined);
    }),
    { numRuns: 200, examples: [[{ before: 0, from: 0, zeros: 0, end: lineOf(1).length - 1 }]] },
  );
});

test.each([
  ["text", "Dear diary\n"],
  [
    "an export, which has no cursors",
    `{"id":1,"name":"Fern","createdAt":"2026-11-19T00:00:00.000Z","createdBy":"t"}\n`,
  ],
  ["an empty line", "\n"],
])("%s is refused, and stays as it was", (_, text) => {
  const path = join(folder.path, "plants.ndjson");
  writeFileSync(path, text);
  expect(() => opened(path)).toThrow("name a new file");
  expect(readFileSync(path, "utf8")).toBe(text);
});
