import { expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { lacksProgram } from "../../../../test/support/lacks.ts";
import { temporaryFolder } from "../../../../test/support/temporary-folder.ts";
import { checksumFile, expectedChecksum } from "./checksum.ts";

test("a checksum file that is large, a device or a pipe is not read, which might not end, and matches nothing", () => {
  using folder = temporaryFolder();
  const files = ["large", "device", "pipe"].map((name) => folder.newPath(name));
  const [large = "", device = "", pipe = ""] = files;
  writeFileSync(checksumFile(large), "0123456789abcdef".repeat(4));
  truncateSync(checksumFile(large), 3_000_000_000);
  symlinkSync("/dev/zero", checksumFile(device));
  if (lacksProgram("mkfifo")) writeFileSync(checksumFile(pipe), "");
  else spawnSync("mkfifo", [checksumFile(pipe)]);
  expect(files.map(expectedChecksum)).toEqual(["", "", ""]);
  expect(expectedChecksum(folder.newPath())).toBeUndefined();
}, 5000);
