import { afterAll, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expectedChecksum } from "./checksum.ts";

const folder = mkdtempSync(join(tmpdir(), "plant-store-checksum-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const sha256 = "0123456789abcdef".repeat(4);

test("the checksum of a file is in the file next to it, even through a symlink", () => {
  const path = join(folder, "a.db");
  expect(expectedChecksum(path)).toBeUndefined();
  writeFileSync(`${path}.sha256`, `${sha256}  a.db\n`);
  expect(expectedChecksum(path)).toBe(sha256);
  symlinkSync(`${path}.sha256`, join(folder, "b.db.sha256"));
  expect(expectedChecksum(join(folder, "b.db"))).toBe(sha256);
});

test("a checksum file that is not a small regular file is not read, and matches nothing", () => {
  const path = (name: string) => join(folder, `${name}.db.sha256`);
  spawnSync("mkfifo", [path("fifo")]);
  symlinkSync("/dev/zero", path("endless"));
  writeFileSync(path("huge"), sha256);
  truncateSync(path("huge"), 3_000_000_000);
  for (const name of ["fifo", "endless", "huge"])
    expect([name, expectedChecksum(join(folder, `${name}.db`))]).toEqual([name, ""]);
}, 5000);
