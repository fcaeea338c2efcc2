import { afterAll, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { temporaryFolder } from "../../../../test/harness.ts";
import { expectedChecksum } from "./checksum.ts";

const folder = temporaryFolder();
afterAll(() => folder[Symbol.dispose]());
const sha256 = "0123456789abcdef".repeat(4);

test("a checksum file that is not a small regular file is not read, and matches nothing", () => {
  const path = (name: string) => join(folder.path, `${name}.db.sha256`);
  spawnSync("mkfifo", [path("fifo")]);
  symlinkSync("/dev/zero", path("endless"));
  writeFileSync(path("huge"), sha256);
  truncateSync(path("huge"), 3_000_000_000);
  for (const name of ["fifo", "endless", "huge"])
    expect([name, expectedChecksum(join(folder.path, `${name}.db`))]).toEqual([name, ""]);
}, 5000);
