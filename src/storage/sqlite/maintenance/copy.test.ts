import { describe, expect, test } from "bun:test";
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

describe.each([
  ["by a link", undefined],
  ["by a rename where there are no links", noLinks],
])("a complete copy that gets its name %s", (_, link) => {
  test("is at that path", () => {
    using folder = temporaryFolder();
    const partial = folder.newPath("a.partial");
    const path = folder.newPath("a");
    writeFileSync(partial, "complete");
    linkOrRename(partial, path, link);
    expect(readFileSync(path, "utf8")).toBe("complete");
  });

  test("never replaces a file that was created meanwhile", () => {
    using folder = temporaryFolder();
    const partial = folder.newPath("a.partial");
    const path = folder.newPath("a");
    writeFileSync(partial, "complete");
    writeFileSync(path, "of someone else");
    expect(() => linkOrRename(partial, path, link)).toThrow(/created meanwhile/);
    expect(readFileSync(path, "utf8")).toBe("of someone else");
    expect(existsSync(partial)).toBe(true);
  });
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

describe("of two backups to one file at the same time", () => {
  /** Starts the second one while the first computes its checksum, the last step before the copy gets its name. */
  async function backUpTwice(store: string, to: string) {
    let second: Promise<unknown> | undefined;
    const first = await writeBackup(store, to, ({ doing }) => {
      if (doing === "computing the checksum of") second ??= caught(writeBackup(store, to));
    });
    return { first, secondError: await second };
  }

  test("the first is complete", async () => {
    using folder = temporaryFolder();
    const store = folder.newPath();
    const to = folder.newPath("copy.db");
    seedStore(store, { plants: 1 });
    const { first } = await backUpTwice(store, to);
    expect(await computeChecksum(to)).toBe(first.sha256);
  });

  test("the second is refused", async () => {
    using folder = temporaryFolder();
    const store = folder.newPath();
    const to = folder.newPath("copy.db");
    seedStore(store, { plants: 1 });
    const { secondError } = await backUpTwice(store, to);
    expect(secondError).toBeInstanceOf(DataFileProblem);
    expect((secondError as DataFileProblem).message).toBe(
      `Another backup or restore to ${to} is running; wait for it to finish.`,
    );
  });
});

test("a backup to a file leaves nothing but that and its checksum", async () => {
  using folder = temporaryFolder();
  const store = folder.newPath();
  const target = folder.newFolder();
  seedStore(store, { plants: 1 });
  await writeBackup(store, join(target, "copy.db"));
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

describe.each(Object.entries(copiers).filter(([, { ending }]) => ending === ""))(
  "%s of the file that has the temporary name",
  (_, { copy }) => {
    test("is refused", async () => {
      using folder = temporaryFolder();
      const to = folder.newPath("copy.db");
      const store = `${to}.partial`;
      seedStore(store, { plants: 1 });
      const before = readFileSync(store);

      const error = await caught(copy(store, to));

      expect(error).toBeInstanceOf(DataFileProblem);
      expect((error as DataFileProblem).message).toBe(
        `${store} has the name that the copy has until it is complete. Rename it first.`,
      );
      expect(readFileSync(store)).toEqual(before);
      expect(existsSync(to)).toBe(false);
    });

    test("is refused by the name of a symbolic link too", async () => {
      using folder = temporaryFolder();
      const to = folder.newPath("copy.db");
      const store = `${to}.partial`;
      const link = folder.newPath("link.db");
      seedStore(store, { plants: 1 });
      symlinkSync(store, link);

      const error = await caught(copy(link, to));

      expect(error).toBeInstanceOf(DataFileProblem);
      expect(existsSync(store)).toBe(true);
      expect(existsSync(to)).toBe(false);
    });
  },
);
