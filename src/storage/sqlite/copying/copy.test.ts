import { Database } from "bun:sqlite";
import { afterAll, beforeAll, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, utimesSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { caught } from "../../../../test/support/caught.ts";
import { changePlant, seedStore } from "../../../../test/support/seeded-store.ts";
import { temporaryFolder } from "../../../../test/support/temporary-folder.ts";
import { Problem } from "../../../system/problem.ts";
import { inspectDataFile } from "../opening/data-file-table.ts";
import { copyDataFile, giveName, isAsStored, partialFile, removeOldPartials } from "./copy.ts";
import { CopyThread } from "./copy-calls.ts";
import { ignoreStep } from "./progress.ts";

// A full block, and some plants more.
const plants = 1100;
const folder = temporaryFolder();
const store = folder.newPath();
beforeAll(() => seedStore(store, { plants }));
afterAll(() => folder[Symbol.dispose]());

/** Copies the file, once it is changed, into a folder of its own. */
async function copyOf(change: (file: string) => void, changeCopy?: (copy: string) => void) {
  const from = folder.newCopy(store);
  change(from);
  const to = join(folder.newFolder(), "copy.db");
  await using thread = new CopyThread(ignoreStep);
  const copied = await caught(copyDataFile(thread, from, to, false, changeCopy));
  return { from, to, copied };
}

/** Overwrites the page that has this text. */
function damage(file: string, text: string): void {
  const bytes = readFileSync(file);
  const page = Math.floor(bytes.indexOf(text) / 4096) * 4096;
  writeFileSync(file, bytes.fill(0, page, page + 4096));
}

test("a copy has everything, and is complete without a WAL", async () => {
  const { to, copied } = await copyOf(() => {});
  expect(copied).toMatchObject({ plants, matchedPlants: 1024, coveredPlants: 1024, changedBlocks: [] });
  expect(isAsStored(copied as never)).toBe(true);
  expect(inspectDataFile(to)).toMatchObject({ kind: "copy", verdict: "new WAL" });
});

test("a copy of a damaged file, or one that is damaged itself, is refused", async () => {
  const ofDamaged = await copyOf((file) => damage(file, "japonica"));
  expect(ofDamaged.copied).toBeInstanceOf(Problem);
  expect(String(ofDamaged.copied)).toContain(`${ofDamaged.from} is damaged (`);
  const becameDamaged = await copyOf(
    () => {},
    (copy) => damage(copy, "japonica"),
  );
  expect(becameDamaged.copied).toBeInstanceOf(Problem);
  expect(String(becameDamaged.copied)).toMatch(/The copy of .*plants\.db is damaged: \w/);
});

test("a copy with plants that were changed since they were stored is made, and says so", async () => {
  const changed = await copyOf(changePlant);
  expect(changed.copied).toMatchObject({ plants, matchedPlants: 0, changedBlocks: [0], problems: [] });
  const removed = await copyOf((file) => {
    using database = new Database(file);
    database.run("DELETE FROM plants WHERE seq = 1050");
  });
  expect(removed.copied).toMatchObject({ changedBlocks: [] });
  for (const { to, copied } of [changed, removed]) {
    expect(isAsStored(copied as never)).toBe(false);
    expect(existsSync(to)).toBe(true);
  }
});

test("a copy that is not complete has a name that nobody else has", () => {
  const [one, other] = [partialFile("/backups/a.db"), partialFile("/backups/a.db")];
  expect(one).toMatch(/^\/backups\/a\.db\.partial-[0-9a-f]{12}$/);
  expect(other).not.toBe(one);
});

test("copies that were interrupted are removed after a day, with their journals, and those of other files never", () => {
  const at = folder.newFolder();
  const create = (name: string, hoursOld: number) => {
    const secondsAgo = Date.now() / 1000 - hoursOld * 3600;
    writeFileSync(join(at, name), "");
    utimesSync(join(at, name), secondsAgo, secondsAgo);
    return name;
  };
  const old = basename(partialFile("a.db"));
  create(old, 25);
  create(`${old}-journal`, 25);
  const kept = [
    create(basename(partialFile("a.db")), 23),
    create(basename(partialFile("b.db")), 25),
    create("a.db", 25),
    create(".partial-0123456789ab", 25),
  ];
  removeOldPartials(at, (name) => name === "a.db");
  expect(readdirSync(at).sort()).toEqual(kept.sort());
});

test("a complete copy gets its name, unless a file was created there meanwhile", () => {
  const path = folder.newPath("a");
  const complete = partialFile(path);
  writeFileSync(complete, "complete");
  giveName(complete, path);
  expect(readFileSync(path, "utf8")).toBe("complete");
  expect(existsSync(complete)).toBe(false);

  const later = partialFile(path);
  writeFileSync(later, "later");
  expect(() => giveName(later, path)).toThrow(/created meanwhile/);
  expect(readFileSync(path, "utf8")).toBe("complete");
  expect(existsSync(later)).toBe(true);
});
