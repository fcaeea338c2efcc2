import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import {
  closeSync,
  constants,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { basename, join } from "node:path";
import { caught } from "../../../../test/support/caught.ts";
import { eventually } from "../../../../test/support/eventually.ts";
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

describe("a backup folder that is a loop of symbolic links", () => {
  function newLoop(): BackupFolder {
    const path = folder.newPath();
    symlinkSync(path, path);
    return new BackupFolder(database, path);
  }

  test("is the problem of a list", async () => {
    const { problem } = await newLoop().list();
    expect(problem).toContain("cannot be opened: too many symbolic links");
  });

  test("is the problem of a backup", async () => {
    const loop = newLoop();
    const { path, problem } = await loop.backUpOnRequest(0);
    expect(problem).toStartWith(`${loop.folderPath} cannot be opened: too many symbolic links`);
    expect(path).toBeUndefined();
  });
});

test("a backup whose digest cannot be recorded is recorded as the last one", async () => {
  const store = folder.newCopy(database);
  const backups = new BackupFolder(store, folder.newFolder());
  const backup = join(backups.folderPath, new BackupNames(store).at(1000));
  mkdirSync(join(digestRecordFile(backup), "in the way"), { recursive: true });
  const { unrecorded } = await backups.backUp(1000);
  expect(unrecorded).toContain(".digest.json");
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

/**
 * Begins a list that has read the names of all backups, and hangs at the record of the last one. Returns what lets it go on.
 */
async function beginHangingList(backups: BackupFolder): Promise<() => void> {
  const last = join(backups.folderPath, "plants-2099-12-31T00-00-00-000Z.db");
  writeFileSync(last, "");
  // Reading a FIFO waits for whoever writes to it. O_NONBLOCK opens it for writing only once it is being read.
  const record = `${last}.digest.json`;
  spawnSync("mkfifo", [record]);
  void backups.list();
  let writer: number;
  await eventually(() => {
    writer = openSync(record, constants.O_WRONLY | constants.O_NONBLOCK);
    return true;
  }, "the list to read the FIFO");
  // The next list finds no record, and does not hang.
  rmSync(record);
  return () => closeSync(writer);
}

describe.skipIf(lacksProgram("mkfifo"))("a list of backups that has not ended", () => {
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
