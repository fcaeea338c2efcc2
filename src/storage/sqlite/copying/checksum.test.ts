import { expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { existsSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { lacksProgram } from "../../../../test/support/lacks.ts";
import { temporaryFolder } from "../../../../test/support/temporary-folder.ts";
import { expectedChecksum } from "./checksum.ts";

const sha256 = "0123456789abcdef".repeat(4);

// Reading such a file would not end.
const endless: [what: string, create: (path: string) => void][] = [
  ["a link to an endless file", (path) => symlinkSync("/dev/zero", path)],
  [
    "too large",
    (path) => {
      writeFileSync(path, sha256);
      truncateSync(path, 3_000_000_000);
    },
  ],
];
if (!lacksProgram("mkfifo")) endless.push(["a named pipe", (path) => spawnSync("mkfifo", [path])]);

test.each(endless)(
  "a checksum file that is %s is not read, and matches nothing",
  (_, create) => {
    using folder = temporaryFolder();
    const file = join(folder.path, "backup.db");
    create(`${file}.sha256`);
    expect(existsSync(`${file}.sha256`)).toBe(true);
    expect(expectedChecksum(file)).toBe("");
  },
  5000,
);
