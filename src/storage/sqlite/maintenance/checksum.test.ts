import { expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { existsSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { lacksProgram } from "../../../../test/support/lacks.ts";
import { temporaryFolder } from "../../../../test/support/temporary-folder.ts";
import { expectedChecksum } from "./checksum.ts";

const sha256 = "0123456789abcdef".repeat(4);

/** Expects that a checksum file that was made so is not read. */
function expectUnread(create: (path: string) => void): void {
  using folder = temporaryFolder();
  const file = join(folder.path, "backup.db");
  create(`${file}.sha256`);
  expect(existsSync(`${file}.sha256`)).toBe(true);
  expect(expectedChecksum(file)).toBe("");
}

// Whoever reads one waits.
const readMsMax = 5000;

test.skipIf(lacksProgram("mkfifo"))(
  "a checksum file that is a named pipe matches nothing",
  () => expectUnread((path) => spawnSync("mkfifo", [path])),
  readMsMax,
);

test.each<[what: string, create: (path: string) => void]>([
  ["an endless file", (path) => symlinkSync("/dev/zero", path)],
  [
    "too large",
    (path) => {
      writeFileSync(path, sha256);
      truncateSync(path, 3_000_000_000);
    },
  ],
])(
  "a checksum file that is %s is not read, and matches nothing",
  (_, create) => expectUnread(create),
  readMsMax,
);
