import { expect, test } from "bun:test";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { caught } from "../../../../test/support/caught.ts";
import { seedStore } from "../../../../test/support/seeded-store.ts";
import { temporaryFolder } from "../../../../test/support/temporary-folder.ts";
import { DataFileProblem } from "../data-file/data-file-problem.ts";
import { streamBackup, writeBackup } from "./backup.ts";
import { computeChecksum } from "./checksum.ts";
import { copyDataFile, linkOrRename } from "./copy.ts";
import { restoreInPlace, restoreToNewFile } from "./restore.ts";

/** As on a file system that has no hard links. */
const noLinks = () => {
  throw Object.assign(new Error("operation not permitted, link"), { code: "EPERM" });
};

test.each([
  ["by a link", undefined],
  ["by a rename where there are no links", noLinks],
])("a complete copy gets its name %s, unless a file was created there meanwhile", (_, link) => {
  using folder = temporaryFolder();
  const path = folder.newPath("a");
  const complete = folder.newPath("a.partial");
  writeFileSync(complete, "complete");
  linkOrRename(complete, path, link);
  expect(readFileSync(path, "utf8")).toBe("complete");

  const later = folder.newPath("a.partial");
  writeFileSync(later, "later");
  expect(() => linkOrRename(later, path, link)).toThrow(/created meanwhile/);
  expect(readFileSync(path, "utf8")).toBe("complete");
  expect(existsSync(later)).toBe(true);
});

test("a copy that is missing is an error", () => {
  using folder = temporaryFolder();
  expect(() => linkOrRename(folder.newPath("missing"), folder.newPath("b"))).toThrow(
    /b cannot be created: no such file or directory\.$/,
  );
});

test("a copy that another one has replaced is not put in place", async () => {
  using folder = temporaryFolder();
  const store = folder.newPath();
  const to = folder.newPath("copy.db");
  seedStore(store, { plants: 1 });
  using copy = await copyDataFile(store, to);
  rmSync(copy.path);
  writeFileSync(copy.path, "incomplete");
  expect(() => copy.putInPlace()).toThrow(
    `Another backup or restore to ${to} is running; wait for it to finish.`,
  );
  expect(existsSync(to)).toBe(false);
});

test("of two backups to one file at the same time, the first is complete and the second is refused", async () => {
  using folder = temporaryFolder();
  const store = folder.newPath();
  const target = folder.newFolder();
  const to = join(target, "copy.db");
  seedStore(store, { plants: 1 });
  let second: Promise<unknown> | undefined;
  const { sha256 } = await writeBackup(store, to, ({ doing }) => {
    // The last step before the copy gets its name.
    if (doing === "computing the checksum of") second ??= caught(writeBackup(store, to));
  });
  expect(await second).toEqual(
    new DataFileProblem(`Another backup or restore to ${to} is running; wait for it to finish.`),
  );
  expect(await computeChecksum(to)).toBe(sha256);
  expect(readdirSync(target).sort()).toEqual(["copy.db", "copy.db.sha256"]);
});

const copiers: Record<string, { copy: (from: string, to: string) => Promise<unknown>; ending: string }> = {
  "a backup": { copy: (from, to) => writeBackup(from, to), ending: "" },
  "a backup to a stream": { copy: (from) => streamBackup(from, async () => true), ending: ".backup" },
  "a restore": { copy: (from, to) => restoreToNewFile(from, to, () => {}), ending: "" },
  "a restore in place": { copy: (from, to) => restoreInPlace(from, to, () => {}), ending: "" },
};

test.each(Object.entries(copiers))(
  "what the system reports about the file that %s writes is a problem of one sentence",
  async (_, { copy, ending }) => {
    using folder = temporaryFolder();
    const store = folder.newPath("plants.db");
    seedStore(store, { plants: 1 });
    const to = ending === "" ? folder.newPath("copy.db") : store + ending;
    mkdirSync(`${to}.partial-journal`);

    const error = await caught(copy(store, to));

    expect(error).toBeInstanceOf(DataFileProblem);
    expect((error as DataFileProblem).message).toBe(`${to} cannot be opened: it is a directory.`);
  },
);

test.each(Object.entries(copiers).filter(([, { ending }]) => ending === ""))(
  "%s of the file that has the temporary name is refused, by the name of a symbolic link too",
  async (_, { copy }) => {
    using folder = temporaryFolder();
    const to = folder.newPath("copy.db");
    const store = `${to}.partial`;
    const link = folder.newPath("link.db");
    seedStore(store, { plants: 1 });
    symlinkSync(store, link);
    const before = readFileSync(store);
    for (const from of [store, link]) {
      expect(await caught(copy(from, to))).toEqual(
        new DataFileProblem(`${store} has the name that the copy has until it is complete. Rename it first.`),
      );
      expect(readFileSync(store)).toEqual(before);
      expect(existsSync(to)).toBe(false);
    }
  },
);
