import { Database } from "bun:sqlite";
import { afterAll, beforeAll, describe, expect, spyOn, test } from "bun:test";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
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
import { Problem } from "../../../system/problem.ts";
import { verifyDataFile } from "../copying/verify.ts";
import { readPragma } from "../data-file/connect.ts";
import { type Failure, markerFile, removeMarker, whyFailureUnrecorded } from "../data-file/failure-marker.ts";
import { lastBackupFile, whyUnrecorded } from "../data-file/last-backup.ts";
import { readUse, readUseWithoutWal } from "../data-file/store-use.ts";
import { copyInto } from "./copy-into.ts";
import { inspectDataFile } from "./data-file-table.ts";
import { diagnoseDataFile } from "./diagnose-data-file.ts";
import { openBeside, openForWriting } from "./open-for-writing.ts";
import { openReadOnly } from "./open-read-only.ts";
import { folderForOld, foldersOfOld, replacementFile } from "./swap.ts";

const plants = 60;
const folder = temporaryFolder();
afterAll(() => folder[Symbol.dispose]());

const madeCrashed = folder.newPath();
// One that was made of a store in use, as every backup of a service is, and one of a store that is closed.
const madeCopies = [folder.newPath("in-use.db"), folder.newPath("closed.db")] as const;
beforeAll(async () => {
  await crashedStore(madeCrashed, plants, {
    checkpointed: 40,
    nameOf: (id) => `${id} ${"x".repeat(1500)}`,
  });
  const file = crashed();
  for (const to of madeCopies) {
    {
      using database = new Database(file, { readonly: true });
      copyInto(database, to);
    }
    open(file);
  }
});

/** A data file and its WAL as a kill leaves them, and the marker of a failure. */
function crashed(failure?: Failure): string {
  const file = join(folder.newFolder(), "plants.db");
  for (const end of ["", "-wal"]) copyFileSync(madeCrashed + end, file + end);
  if (failure !== undefined) whyFailureUnrecorded(file, failure);
  return file;
}

/** A copy in the place of a data file. */
function putCopy(copy: string): string {
  const file = join(folder.newFolder(), "plants.db");
  copyFileSync(copy, file);
  return file;
}

function open(file: string): void {
  openForWriting(file)[Symbol.dispose]();
}

async function expectWhole(file: string): Promise<void> {
  expect(await verifyDataFile(file)).toMatchObject({ plants, problems: [] });
  expect(inspectDataFile(file)).toMatchObject({ kind: "closed", verdict: "open" });
  expect(existsSync(markerFile(file))).toBe(false);
  expect(existsSync(replacementFile(file))).toBe(false);
}

/** What a kill would leave of a file that is open now. */
function asKilled(file: string, ends = ["", "-wal"]): string {
  const killed = join(folder.newFolder(), "plants.db");
  for (const end of ends) copyFileSync(file + end, killed + end);
  return killed;
}

describe("the first start of a copy", () => {
  test.each(madeCopies)("removes what is left of a WAL, and makes it a store in use (%s)", async (copy) => {
    const file = putCopy(copy);
    expect(inspectDataFile(file).kind).toBe("copy");
    // A header, and half of a frame.
    writeFileSync(`${file}-wal`, readFileSync(`${madeCrashed}-wal`).subarray(0, 2000));
    writeFileSync(`${file}-shm`, Buffer.alloc(32_768, 1));
    {
      using opened = openForWriting(file);
      expect(readUse(opened.database)).toBe("in use");
      expect(inspectDataFile(asKilled(file))).toMatchObject({ kind: "in use", verdict: "recover" });
      expect(inspectDataFile(asKilled(file, [""])).verdict).toBe("lost WAL");
    }
    expect(readdirSync(dirname(file)).some((name) => name.includes("before"))).toBe(false);
    await expectWhole(file);
  });

  test("waits for a reader, names the file that it reads, and can be repeated", async () => {
    const [copy] = madeCopies;
    const file = putCopy(copy);
    using reader = new Database(file, { readonly: true });
    reader.run("BEGIN");
    reader.query("SELECT count(*) FROM plants").get();
    {
      using waits = withoutWaiting();
      expect(() => openForWriting(file)).toThrow(
        `${file} is being read by another process, and is a copy that nobody may read while its first start prepares it: wait for that process to end (\`fuser ${file}\` names it)`,
      );
      expect(waits.milliseconds).toContain(5000);
    }
    expect(readFileSync(file).equals(readFileSync(copy))).toBe(true);
    expect(readdirSync(dirname(file)).sort()).toEqual(["plants.db", "plants.db.lock"]);
    reader.run("COMMIT");
    open(file);
    await expectWhole(file);
  });
});

/** SQLite does not wait for a lock, and these are the times for which it would have waited. */
function withoutWaiting(): Disposable & { readonly milliseconds: readonly number[] } {
  const { run } = Database.prototype;
  const milliseconds: number[] = [];
  const spy = spyOn(Database.prototype, "run").mockImplementation(function (this: Database, sql: string) {
    const [, wait] = /^PRAGMA busy_timeout = (\d+)$/.exec(sql) ?? [];
    if (wait === undefined) return run.call(this, sql);
    milliseconds.push(Number(wait));
    return run.call(this, "PRAGMA busy_timeout = 0");
  } as typeof run);
  return { milliseconds, [Symbol.dispose]: () => spy.mockRestore() };
}

describe("a store that was there", () => {
  test("is not begun again where its data file is missing or empty, until its record is removed", () => {
    const file = join(folder.newFolder(), "plants.db");
    open(file);
    expect(readFileSync(lastBackupFile(file), "utf8")).toBe("{}\n");
    const gone =
      / is missing or empty, but .*\.last-backup\.json says that there was a store\. Is its disk mounted\?/;
    for (const harm of [() => rmSync(file), () => writeFileSync(file, "")]) {
      harm();
      expect(() => openForWriting(file)).toThrow(gone);
      expect(() => openBeside(file, { mayCreate: true })).toThrow(gone);
      expect(existsSync(file) ? readFileSync(file, "utf8") : "").toBe("");
    }
    rmSync(lastBackupFile(file));
    open(file);
    expect(storedPlants(file)).toEqual([]);
  });

  test("is not begun again after it was overwritten, and begun again after a failed fsync of an empty file", () => {
    const file = join(folder.newFolder(), "plants.db");
    whyFailureUnrecorded(file, "overwritten");
    expect(() => openForWriting(file)).toThrow(/overwritten while the service ran/);
    expect(existsSync(file)).toBe(false);
    removeMarker(file);
    whyFailureUnrecorded(file, "sync-failed");
    open(file);
    expect(storedPlants(file)).toEqual([]);
    expect(existsSync(markerFile(file))).toBe(false);
  });

  test("and that has fewer plants than its last backup is reported", () => {
    const reported = (inBackup: number) => {
      const file = putCopy(madeCopies[0]);
      whyUnrecorded(file, { atMs: 0, plants: inBackup, coveredPlants: 0, digest: null });
      const found: [number, number][] = [];
      openForWriting(file, { plantsMissing: (...counts) => found.push(counts) })[Symbol.dispose]();
      return found;
    };
    expect(reported(plants + 1)).toEqual([[plants, plants + 1]]);
    expect(reported(plants)).toEqual([]);
  });
});

describe("the start after a failed fsync", () => {
  test("copies everything into a new file with the old one's mode, and keeps the old files", async () => {
    const file = crashed("sync-failed");
    chmodSync(file, 0o640);
    // A copy that another start did not finish.
    writeFileSync(replacementFile(file), "SQLite format 3\0");
    const before = statSync(file);
    const rebuilding: number[] = [];
    openForWriting(file, { rebuilding: (bytes) => rebuilding.push(bytes) })[Symbol.dispose]();
    expect(rebuilding).toEqual([before.size]);
    expect(statSync(file).ino).not.toBe(before.ino);
    expect(statSync(file).mode & 0o777).toBe(0o640);
    const [old = ""] = foldersOfOld(file);
    expect(statSync(join(old, "plants.db")).ino).toBe(before.ino);
    expect(storedPlants(join(old, "plants.db"))).toHaveLength(plants);
    await expectWhole(file);
  });

  test("finishes one that was killed before it moved the old WAL away, and keeps the old files once", async () => {
    const file = crashed("sync-failed");
    const old = folderForOld(file, statSync(markerFile(file)).mtimeMs);
    mkdirSync(old);
    renameSync(file, join(old, "plants.db"));
    copyFileSync(madeCopies[0], file);
    const moved: string[] = [];
    openForWriting(file, { walMovedAway: (to) => moved.push(to) })[Symbol.dispose]();
    expect(moved).toEqual([old]);
    expect(foldersOfOld(file)).toEqual([old]);
    for (const end of ["", "-wal"])
      expect(readFileSync(join(old, `plants.db${end}`)).equals(readFileSync(madeCrashed + end))).toBe(true);
    await expectWhole(file);
  });

  test("refuses a file with damage that no other start looks for without changing it", () => {
    const lostPage = (bytes: Buffer, at: number) => bytes.fill(0, at - (at % 4096), at - (at % 4096) + 4096);
    // One name becomes a blob, which SQLite copies: its type is in the header of the record, five bytes before.
    const wrongType = (bytes: Buffer, at: number) => bytes.writeUInt8(bytes.readUInt8(at - 5) - 1, at - 5);
    for (const [damage, why] of [
      [lostPage, /is damaged .*; restore a sound backup\.$/],
      [wrongType, /is damaged: non-TEXT value in plants\.name; restore a sound backup\.$/],
    ] as const) {
      const file = crashed("sync-failed");
      const bytes = readFileSync(file);
      damage(bytes, bytes.indexOf("20 xxx"));
      writeFileSync(file, bytes);
      expect(() => openForWriting(file)).toThrow(why);
      expect(readFileSync(file).equals(bytes)).toBe(true);
      expect(existsSync(replacementFile(file))).toBe(false);
      expect(existsSync(markerFile(file))).toBe(true);
    }
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
});

test("a start removes a second name of the data file from its dated folders, and no other file", () => {
  const file = crashed();
  const [copied, linked] = [folderForOld(file, 0), folderForOld(file, 1)];
  for (const old of [copied, linked]) mkdirSync(old);
  copyFileSync(file, join(copied, "plants.db"));
  linkSync(file, join(linked, "plants.db"));
  open(file);
  expect(readdirSync(copied)).toEqual(["plants.db"]);
  expect(readdirSync(linked)).toEqual([]);
  expect(storedPlants(file)).toHaveLength(plants);
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

test.each<[what: string, why: RegExp, harm: (file: string) => void]>([
  [
    "a WAL with zeros in the middle",
    /-wal is damaged at frame \d+/,
    (file) => writeFileSync(`${file}-wal`, readFileSync(`${file}-wal`).fill(0, 50_000, 60_000)),
  ],
  ["a WAL whose data file is empty", /is missing or empty/, (file) => truncateSync(file)],
  [
    "a WAL beside a backup",
    /belongs to another file; no file was changed/,
    (file) => copyFileSync(madeCopies[1], file),
  ],
  [
    "a data file without its WAL, after a failed fsync too,",
    /its WAL .* is missing or empty/,
    (file) => {
      rmSync(`${file}-wal`);
      whyFailureUnrecorded(file, "sync-failed");
    },
  ],
  [
    "a rollback journal",
    /plants\.db-journal is a rollback journal: .* Move the journal away, unless/,
    (file) => writeFileSync(`${file}-journal`, emptyingJournal),
  ],
  [
    "what was overwritten",
    /overwritten while the service ran/,
    (file) => whyFailureUnrecorded(file, "overwritten"),
  ],
])(
  "after a crash, %s is refused by a start and every command, through a link too, without a change of any file",
  (_, why, harm) => {
    const file = crashed();
    const link = `${dirname(file)}.link.db`;
    harm(file);
    symlinkSync(file, link);
    const bytes = () =>
      ["", "-wal", "-shm", "-journal"].map(
        (end) => existsSync(file + end) && readFileSync(file + end, "hex"),
      );
    const before = bytes();
    const attempts = [
      () => openForWriting(file),
      () => openForWriting(link),
      () => openReadOnly(link),
      () => openBeside(link, { mayCreate: true }),
      () => diagnoseDataFile(link),
    ];
    for (const attempt of attempts) {
      expect(attempt).toThrow(Problem);
      expect(attempt).toThrow(why);
      expect(bytes()).toEqual(before);
    }
  },
);
