import { afterAll, beforeAll, describe, expect, spyOn, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { mkdirSync, renameSync, rmSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import * as fs from "node:fs/promises";
import { basename, join } from "node:path";
import { caught } from "../../../../test/support/caught.ts";
import { lacksProgram } from "../../../../test/support/lacks.ts";
import { seedStore } from "../../../../test/support/seeded-store.ts";
import { temporaryFolder } from "../../../../test/support/temporary-folder.ts";
import type { OnStep } from "../../../plants/plant-backups.ts";
import { DataFileProblem } from "../data-file/data-file-problem.ts";
import { BackupFolder } from "./backup-folder.ts";
import { BackupNames } from "./backup-names.ts";
import { digestRecordFile, readLastBackup } from "./backup-records.ts";

const folder = temporaryFolder();
const database = join(folder.path, "plants.db");

beforeAll(() => seedStore(database, { plants: 3 }));
afterAll(() => folder[Symbol.dispose]());

function newFolder(): BackupFolder {
  return new BackupFolder(database, folder.newFolder());
}

test.each(["copying", "comparing the plants of", "computing the checksum of"])(
  "a folder that is replaced by a file during a backup is named, with the reason (while %s)",
  async (step) => {
    const backups = newFolder();
    const { folderPath } = backups;
    const onStep: OnStep = ({ doing }) => {
      if (doing !== step) return;
      renameSync(folderPath, `${folderPath}.moved`);
      writeFileSync(folderPath, "");
    };

    const error = await caught(backups.backUp(0, { onStep }));

    expect(error).toBeInstanceOf(DataFileProblem);
    const { message } = error as DataFileProblem;
    expect(message).toContain(folderPath);
    expect(message).toContain("not a directory");
  },
);

test("a backup folder that is a loop of symbolic links is the problem of a list and of a backup", async () => {
  const path = folder.newPath();
  symlinkSync(path, path);
  const loop = new BackupFolder(database, path);
  expect((await loop.list()).problem).toContain("cannot be opened: too many symbolic links");
  const backup = await loop.backUpOnRequest(0);
  expect(backup.problem).toStartWith(`${path} cannot be opened: too many symbolic links`);
  expect(backup.path).toBeUndefined();
});

test("a backup whose digest cannot be recorded is the last one, with a warning that names only that record", async () => {
  const store = folder.newCopy(database);
  const backups = new BackupFolder(store, folder.newFolder());
  const record = digestRecordFile(join(backups.folderPath, new BackupNames(store).at(1000)));
  mkdirSync(join(record, "in the way"), { recursive: true });
  const { warning } = await backups.backUpOnRequest(1000);
  expect(warning).toBe(
    `The backup is complete, but it could not be recorded: ${record} cannot be written: it is a directory.`,
  );
  expect(await readLastBackup(store)).toMatchObject({ atMs: 1000 });
});

test("the verification of a backup that is gone says so", async () => {
  const backups = newFolder();
  const { path } = await backups.backUpOnRequest(0);
  rmSync(path as string);
  const { problems } = await backups.verify(basename(path as string));
  expect(problems).toHaveLength(1);
  expect(problems[0]).toStartWith(`${path} cannot be opened: no such file or directory`);
});

// Reading such a record would not end.
const endless: [what: string, create: (path: string) => void][] = [
  ["a link to /dev/zero", (path) => symlinkSync("/dev/zero", path)],
  [
    "a large file",
    (path) => {
      writeFileSync(path, "{}");
      truncateSync(path, 3_000_000_000);
    },
  ],
];
if (!lacksProgram("mkfifo")) endless.push(["a named pipe", (path) => spawnSync("mkfifo", [path])]);

test.each(endless)(
  "the record of a backup that is %s is not read, and removed with the backup",
  async (_, create) => {
    const backups = newFolder();
    const { made } = await backups.backUp(0);
    const record = digestRecordFile(made.path);
    rmSync(record);
    create(record);
    const name = basename(made.path);
    expect((await backups.list()).backups.map((backup) => backup.name)).toEqual([name]);
    expect((await backups.verify(name)).problems).toEqual([
      `${record} is not a small regular file; move it away.`,
    ]);
    expect((await backups.backUp(1000, { keep: 1 })).removed).toEqual([made.path]);
  },
);

/**
 * Begins a list that has read the names of all backups, and hangs at the record of the last one. Returns what lets it go on.
 */
async function beginHangingList(backups: BackupFolder): Promise<() => void> {
  const last = join(backups.folderPath, "plants-2099-12-31T00-00-00-000Z.db");
  writeFileSync(last, "");
  const record = digestRecordFile(last);
  writeFileSync(record, "{}");
  const reached = Promise.withResolvers<void>();
  const continued = Promise.withResolvers<void>();
  const { readFile } = fs;
  const readOrHang = async (...args: Parameters<typeof readFile>) => {
    if (args[0] === record) {
      reached.resolve();
      await continued.promise;
    }
    return readFile(...args);
  };
  // Only the list that begins here hangs.
  using _spy = spyOn(fs, "readFile").mockImplementation(readOrHang as typeof readFile);
  void backups.list();
  await reached.promise;
  return continued.resolve;
}

describe("a list of backups that has not ended", () => {
  test("is shared by those that begin meanwhile", async () => {
    const backups = newFolder();
    const continueList = await beginHangingList(backups);
    const first = backups.list();
    const second = backups.list();
    continueList();
    expect((await second).backups).toBe((await first).backups);
  });

  test("is not shared after a backup, which it may lack", async () => {
    const backups = newFolder();
    const continueList = await beginHangingList(backups);
    const { path } = await backups.backUpOnRequest(0);
    const list = backups.list();
    continueList();
    const paths = (await list).backups.map(({ name }) => join(backups.folderPath, name));
    expect(paths).toContain(path as string);
  });

  test("is not shared after a verification, whose time it may lack", async () => {
    const backups = newFolder();
    const { path } = await backups.backUpOnRequest(0);
    const name = basename(path as string);
    const continueList = await beginHangingList(backups);
    await backups.verify(name);
    const list = backups.list();
    continueList();
    const verified = (await list).backups.find((backup) => backup.name === name);
    expect(verified?.verifiedAtMs).toBeNumber();
  });
});
