import { expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DataFileWatch } from "./data-file-watch.ts";

/** A data file and its WAL, checked only on demand. */
function watched() {
  const folder = mkdtempSync(join(tmpdir(), "plant-store-watch-"));
  const data = join(folder, "data");
  mkdirSync(data);
  const path = join(data, "plants.db");
  writeFileSync(path, "");
  writeFileSync(`${path}-wal`, "");
  writeFileSync(`${path}-shm`, "");
  const lost: string[] = [];
  const watch = new DataFileWatch(path, ({ file, how }) => lost.push(`${file} ${how}`));
  watch.stop();
  return {
    data,
    path,
    lost,
    check: () => watch.check(),
    commands: () => watch.copyCommands(),
    [Symbol.dispose]() {
      watch.closeFiles();
      rmSync(folder, { recursive: true });
    },
  };
}

for (const [file, end] of [
  ["data", ""],
  ["wal", "-wal"],
] as const) {
  for (const how of ["deleted", "replaced"]) {
    test(`the ${file} file is reported when it was ${how}`, async () => {
      using files = watched();
      expect([await files.check(), files.lost]).toEqual([true, []]);
      if (how === "deleted") rmSync(files.path + end);
      else {
        writeFileSync(`${files.path}-other`, "");
        renameSync(`${files.path}-other`, files.path + end);
      }
      expect([await files.check(), files.lost]).toEqual([false, [`${file} replaced`]]);
    });
  }
}

test("a folder that cannot be read proves nothing about the file; one that was deleted or replaced by a file does", async () => {
  using files = watched();
  const away = `${files.data}-away`;
  renameSync(files.data, away);
  symlinkSync(files.data, files.data);
  expect([await files.check(), files.lost]).toEqual([true, []]);
  rmSync(files.data);
  expect(await files.check()).toBe(false);
  writeFileSync(files.data, "");
  expect(await files.check()).toBe(false);
});

test.skipIf(process.platform !== "linux")(
  "both files are copied by its commands, after they were deleted",
  () => {
    using files = watched();
    writeFileSync(files.path, "data");
    writeFileSync(`${files.path}-wal`, "frames");
    rmSync(files.path);
    rmSync(`${files.path}-wal`);
    expect(spawnSync("sh", ["-c", files.commands() ?? ""]).status).toBe(0);
    const copies = readdirSync(files.data)
      .filter((name) => name.includes(".rescued-"))
      .sort();
    expect(copies.map((name) => readFileSync(join(files.data, name), "utf8"))).toEqual(["data", "frames"]);
    expect(copies).toEqual([expect.stringMatching(/^plants\.db\.rescued-/), `${copies[0]}-wal`]);
  },
);
