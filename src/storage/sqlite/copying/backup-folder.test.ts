import { Database } from "bun:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { basename, join } from "node:path";
import { caught } from "../../../../test/support/caught.ts";
import { changePlant, seedStore } from "../../../../test/support/seeded-store.ts";
import { temporaryFolder } from "../../../../test/support/temporary-folder.ts";
import type { OnStep } from "../../../plants/plant-backups.ts";
import { Problem } from "../../../system/problem.ts";
import { lastBackupFile, readLastBackup } from "../data-file/last-backup.ts";
import { BackupFolder } from "./backup-folder.ts";
import { checksumFile } from "./checksum.ts";

const folder = temporaryFolder();
const database = join(folder.path, "plants.db");
const fullBlock = 1024;

beforeAll(() => seedStore(database, { plants: 3 }));
afterAll(() => folder[Symbol.dispose]());

function newFolder(of = database): BackupFolder {
  return new BackupFolder(of, folder.newFolder());
}

/** A data file of the same name with so many plants. */
function storeWith(plants: number): string {
  const file = join(folder.newFolder(), "plants.db");
  seedStore(file, { plants });
  return file;
}

async function namesIn(backups: BackupFolder): Promise<readonly string[]> {
  return (await backups.list()).map(({ name }) => name);
}

test.each(["copying", "checking the rows of the copy of", "computing the checksum of"])(
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

    expect(error).toBeInstanceOf(Problem);
    const { message } = error as Problem;
    expect(message).toContain(folderPath);
    expect(message).toContain("not a directory");
  },
);

test("a backup that cannot be recorded is complete, with a warning that names the record", async () => {
  const store = storeWith(3);
  const backups = newFolder(store);
  rmSync(lastBackupFile(store));
  mkdirSync(join(lastBackupFile(store), "in the way"), { recursive: true });
  const { made, warning } = await backups.backUp(1000);
  expect(warning).toBe(
    `The backup is complete, but it could not be recorded: ${lastBackupFile(store)} cannot be written: it is a directory.`,
  );
  expect(await namesIn(backups)).toEqual([basename(made.path)]);
});

test("a backup is recorded as the last one, with how many plants it has", async () => {
  const store = storeWith(fullBlock);
  const { made, unrecorded } = await newFolder(store).backUp(1000);
  expect(unrecorded).toBeUndefined();
  const { plants, coveredPlants, digest } = made;
  expect(readLastBackup(store)).toEqual({ atMs: 1000, plants, coveredPlants, digest });
  expect({ plants, coveredPlants }).toEqual({ plants: fullBlock, coveredPlants: fullBlock });
});

test("a backup into a folder removes its own interrupted ones of yesterday, and no other file", async () => {
  const backups = newFolder();
  const create = (name: string) => {
    writeFileSync(join(backups.folderPath, name), "");
    utimesSync(join(backups.folderPath, name), 1000, 1000);
    return name;
  };
  create("plants-2026-11-15T02-00-00-000Z.db.partial-0123456789ab");
  const others = [
    create("other-2026-11-15T02-00-00-000Z.db.partial-0123456789ab"),
    create("plants.db.partial-0"),
  ];
  const { made } = await backups.backUp(0);
  const own = [basename(made.path), `${basename(made.path)}.sha256`];
  expect(readdirSync(backups.folderPath).sort()).toEqual([...others, ...own].sort());
});

describe("--keep", () => {
  test("removes the oldest backups with what is beside them, and nothing that is not a backup", async () => {
    const backups = newFolder();
    const made: string[] = [];
    for (const atMs of [1000, 2000, 3000]) made.push((await backups.backUp(atMs)).made.path);
    const [first = "", second = "", third = ""] = made;
    const own = join(backups.folderPath, "plants-1969-01-01T00-00-00-000Z.db");
    writeFileSync(own, "without a checksum, it is the operator's own");
    const [subfolder, link] = [1, 2].map((day) => `plants-1969-02-0${day}T00-00-00-000Z.db`) as [
      string,
      string,
    ];
    mkdirSync(join(backups.folderPath, subfolder));
    symlinkSync(first, join(backups.folderPath, link));
    // One that cannot be read has no plants.
    writeFileSync(second, "broken");
    const { removed, larger, made: newest } = await backups.backUp(4000, { keep: 2 });
    expect({ removed, larger }).toEqual({ removed: [first, second], larger: [] });
    const left = [own, subfolder, link, third, checksumFile(third), newest.path, checksumFile(newest.path)];
    expect(readdirSync(backups.folderPath).sort()).toEqual(left.map((path) => basename(path)).sort());
  });

  test("removes no backup for one with fewer plants, and names the one that has more", async () => {
    const { folderPath } = newFolder();
    const paths: string[] = [];
    for (const [index, plants] of [3, 5, 3].entries())
      paths.push((await new BackupFolder(storeWith(plants), folderPath).backUp(index)).made.path);
    const backups = new BackupFolder(storeWith(4), folderPath);
    const { removed, larger, made } = await backups.backUp(1000, { keep: 1 });
    expect({ removed, larger, plants: made.plants }).toEqual({
      removed: [],
      larger: [paths[1] ?? ""],
      plants: 4,
    });
    expect(await namesIn(backups)).toHaveLength(4);
    // Even if that one is kept: the new one, of a store that was put back, is the newest by its name.
    expect(await backups.backUp(2000, { keep: 4 })).toMatchObject({ removed: [], larger: [paths[1] ?? ""] });
  });

  test("counts by the newest plant, and not those that were deleted before it", async () => {
    const backups = newFolder(storeWith(5));
    const { made } = await backups.backUp(0);
    {
      using store = new Database(backups.databasePath);
      store.run("DELETE FROM plants WHERE seq = 5");
    }
    expect(await backups.backUp(1000, { keep: 1 })).toMatchObject({ removed: [], larger: [made.path] });
  });

  test("removes no backup for one with changed plants, which is made and says so", async () => {
    const backups = newFolder(storeWith(fullBlock));
    const { made } = await backups.backUp(0);
    changePlant(backups.databasePath);
    const changed = await backups.backUp(1000, { keep: 1 });
    expect(changed).toMatchObject({ removed: [], larger: [], made: { changedBlocks: [0] } });
    expect(existsSync(made.path)).toBe(true);
    expect((await backups.backUp(2000)).warning).toMatch(
      /^The backup is complete, but plants were changed after they were stored, in /,
    );
  });
});
