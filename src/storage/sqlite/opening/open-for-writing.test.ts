import { Database } from "bun:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { start } from "../../../../test/support/command.ts";
import { crashedStore, emptyingJournal } from "../../../../test/support/crashed-store.ts";
import { eventually } from "../../../../test/support/eventually.ts";
import { storedPlants } from "../../../../test/support/stored-plants.ts";
import { temporaryFolder } from "../../../../test/support/temporary-folder.ts";
import { readPragma } from "../data-file/connect.ts";
import { DataFileProblem } from "../data-file/data-file-problem.ts";
import { type FailureReason, markerFile, writeMarker } from "../data-file/failure-marker.ts";
import { readUse, readUseWithoutWal } from "../data-file/store-use.ts";
import { verifyDataFile } from "../maintenance/verify.ts";
import { openReadOnly } from "../reading/open-read-only.ts";
import { copyInto } from "./copy-into.ts";
import { openBeside, openForWriting } from "./open-for-writing.ts";
import { contentsOf } from "./rebuild.ts";

const plants = 60;
const folder = temporaryFolder();
afterAll(() => folder[Symbol.dispose]());

const madeCrashed = folder.newPath();
beforeAll(() =>
  crashedStore(madeCrashed, plants, { checkpointed: 40, nameOf: (id) => `${id} ${"x".repeat(1500)}` }),
);

/** A data file and its WAL as a kill leaves them, and the marker of a failure. */
function crashed(failure?: FailureReason): string {
  const file = join(folder.newFolder(), "plants.db");
  for (const end of ["", "-wal"]) copyFileSync(madeCrashed + end, file + end);
  if (failure !== undefined) writeMarker(file, failure);
  return file;
}

/** Without its rollback journal, so that nothing but the data file changes. */
function changeBySql(file: string, sql: string): void {
  using database = new Database(file);
  database.run("PRAGMA journal_mode = MEMORY");
  database.run(sql);
}

function open(file: string): void {
  openForWriting(file)[Symbol.dispose]();
}

async function expectWhole(file: string): Promise<void> {
  expect(await verifyDataFile(file)).toMatchObject({ plants, problems: [] });
  expect(existsSync(markerFile(file))).toBe(false);
  expect(existsSync(`${file}.rebuilt`)).toBe(false);
}

describe("the start after a failed fsync", () => {
  test("copies everything into a new file, with the old one's mode", async () => {
    const file = crashed("sync-failed");
    chmodSync(file, 0o640);
    // A copy that another start did not finish.
    writeFileSync(`${file}.rebuilt`, "SQLite format 3\0");
    const before = statSync(file);
    const rebuilding: number[] = [];
    openForWriting(file, { rebuilding: (bytes) => rebuilding.push(bytes) })[Symbol.dispose]();
    expect(rebuilding).toEqual([before.size]);
    expect(statSync(file).ino).not.toBe(before.ino);
    expect(statSync(file).mode & 0o777).toBe(0o640);
    await expectWhole(file);
  });

  // The old WAL has pages of the old file; applied to the new one, it would destroy that.
  test.each([
    ["before the WAL was removed", () => {}],
    ["before the copy had the data file's name", (file: string) => rmSync(`${file}-wal`)],
    ["when the data file is unreadable", (file: string) => writeFileSync(file, Buffer.alloc(8192))],
    [
      "after that, and plants were stored since",
      (file: string) => {
        open(file);
        writeMarker(file, "rebuilt");
        const later = crashed();
        for (const end of ["", "-wal"]) copyFileSync(later + end, file + end);
      },
    ],
  ])("finishes a rebuild that ended %s", async (_, change) => {
    const file = crashed("rebuilt");
    // What a rebuild writes before it changes anything else.
    const image = `${file}-image`;
    for (const end of ["", "-wal"]) copyFileSync(file + end, image + end);
    using database = new Database(image);
    copyInto(database, `${file}.rebuilt`);
    writeMarker(file, "rebuilt", { ...contentsOf(`${file}.rebuilt`), folder: undefined });
    change(file);
    expect(() => openReadOnly(file)).toThrow(/start the service on it once to finish that\.$/);
    open(file);
    await expectWhole(file);
  });

  test.each([
    ["truncated", (copy: string) => truncateSync(copy, statSync(copy).size - 4096), "it cannot be read"],
    [
      "with a plant less",
      (copy: string) => changeBySql(copy, "DELETE FROM plants WHERE seq = 1"),
      `${plants - 1} plants`,
    ],
    [
      "with another name in its newest plant",
      (copy: string) => changeBySql(copy, `UPDATE plants SET name = upper(name) WHERE seq = ${plants}`),
      "it has other plants",
    ],
  ])("refuses a copy %s in the meantime without changing it", (_, change, message) => {
    const file = crashed();
    {
      using database = new Database(file, { readonly: true });
      copyInto(database, `${file}.rebuilt`);
    }
    writeMarker(file, "rebuilt", { ...contentsOf(`${file}.rebuilt`), folder: undefined });
    change(`${file}.rebuilt`);
    const files = () =>
      readdirSync(dirname(file)).map((name) => readFileSync(join(dirname(file), name), "hex"));
    const before = files();
    expect(() => openForWriting(file)).toThrow(message);
    rmSync(`${file}.lock`);
    expect(files()).toEqual(before);
  });

  test("refuses a file with damage that no other start looks for without changing it", () => {
    const file = crashed("sync-failed");
    const bytes = readFileSync(file);
    const page = Math.floor(bytes.indexOf("20 xxx") / 4096) * 4096;
    writeFileSync(file, bytes.fill(0, page, page + 4096));
    expect(() => openForWriting(file)).toThrow(/is damaged .*; restore it from a backup\.$/);
    expect(readFileSync(file).equals(bytes)).toBe(true);
    expect(existsSync(`${file}.rebuilt`)).toBe(false);
    expect(existsSync(markerFile(file))).toBe(true);
  });

  test("is refused while another process has the file open, whose cache cannot be trusted", async () => {
    const file = crashed("sync-failed");
    using reader = new Database(file, { readonly: true });
    reader.query("SELECT count(*) FROM plants").get();
    expect(() => openForWriting(file)).toThrow(/after a failed fsync, but another process has it open/);
    reader.close();
    open(file);
    await expectWhole(file);
  });

  test("ignores the failure if the data file no longer exists", () => {
    const file = crashed("sync-failed");
    for (const end of ["", "-wal"]) rmSync(file + end);
    open(file);
    expect(storedPlants(file)).toEqual([]);
    expect(existsSync(markerFile(file))).toBe(false);
  });
});

/** Another process in the middle of a checkpoint: it holds SQLite's lock against other checkpoints until it is disposed of. */
async function checkpointElsewhere(file: string): Promise<AsyncDisposable> {
  // The checkpoint gets that lock, waits for the write lock, and is stopped before it gets that too.
  using writer = new Database(file);
  writer.run("BEGIN IMMEDIATE");
  using observer = new Database(file, { safeIntegers: true });
  const script = `
    const database = new (require("bun:sqlite").Database)(${JSON.stringify(file)});
    database.run("PRAGMA busy_timeout = 60000");
    database.run("PRAGMA wal_checkpoint(RESTART)");`;
  await using cleanUp = new AsyncDisposableStack();
  const { child } = cleanUp.use(start(process.execPath, ["-e", script]));
  const isBusy = () => readPragma(observer, "wal_checkpoint(PASSIVE)") === 1n;
  await eventually(isBusy, "the other process to checkpoint");
  child.kill("SIGSTOP");
  writer.run("ROLLBACK");
  return cleanUp.move();
}

test("a start while another process checkpoints marks the data file as in use in its WAL", async () => {
  const file = join(folder.path, "checkpointed.db");
  open(file);
  await using _checkpoint = await checkpointElsewhere(file);
  using opened = openForWriting(file);
  expect(readUse(opened.database)).toBe("in use");
  expect(readUseWithoutWal(file)).toBe("closed");
});

const isJournal = /plants\.db-journal is a rollback journal: .* Move the journal away, unless/;

test.each<[what: string, why: RegExp, harm: (file: string) => void]>([
  [
    "a WAL with zeros in the middle",
    /is damaged at frame \d+/,
    (file) => writeFileSync(`${file}-wal`, readFileSync(`${file}-wal`).fill(0, 50_000, 60_000)),
  ],
  ["a WAL whose data file is missing", /is missing or empty/, (file) => rmSync(file)],
  ["a WAL whose data file is empty", /is missing or empty/, (file) => truncateSync(file)],
  ["a rollback journal with a WAL", isJournal, (file) => writeFileSync(`${file}-journal`, emptyingJournal)],
  [
    "a rollback journal without one",
    isJournal,
    (file) => {
      open(file);
      writeFileSync(`${file}-journal`, emptyingJournal);
    },
  ],
])(
  "after a crash, %s is refused by a start and every command, through a link too, without a change of any file",
  (_, why, harm) => {
    const file = crashed();
    const link = `${dirname(file)}.link.db`;
    harm(file);
    symlinkSync(file, link);
    const bytes = () =>
      ["", "-wal", "-journal"].map((end) => existsSync(file + end) && readFileSync(file + end, "hex"));
    const before = bytes();
    const attempts = [
      () => openForWriting(file),
      () => openForWriting(link),
      () => openReadOnly(link),
      () => openBeside(link, { mayCreate: false }),
    ];
    for (const attempt of attempts) {
      expect(attempt).toThrow(DataFileProblem);
      expect(attempt).toThrow(why);
      expect(bytes()).toEqual(before);
    }
  },
);

test("the journal of a new file's first transaction is undone", () => {
  const file = folder.newPath();
  writeFileSync(file, Buffer.alloc(4096));
  writeFileSync(`${file}-journal`, emptyingJournal);
  open(file);
  expect(storedPlants(file)).toEqual([]);
  expect(existsSync(`${file}-journal`)).toBe(false);
});

test("an empty journal is ignored", async () => {
  const file = crashed();
  writeFileSync(`${file}-journal`, "");
  open(file);
  await expectWhole(file);
});
