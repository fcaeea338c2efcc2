// What a restore and verify check of a backup: its checksum, its digests and its size; and what a restore finds at its target.
// restore-in-place.test.ts has --replace.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { copyFileSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { foldersOfOld } from "../../src/storage/sqlite/opening/swap.ts";
import { plantStore, startPlantStore } from "../support/command.ts";
import { emptyingJournal } from "../support/crashed-store.ts";
import { eventually } from "../support/eventually.ts";
import { changePlant, seedStore } from "../support/seeded-store.ts";
import { storedPlants } from "../support/stored-plants.ts";
import { lacksSyncShim, recordSyncs } from "../support/syncs.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { runInProcess } from "../support/terminal.ts";

const folder = temporaryFolder();
// A store of 3,000 plants, which no test changes: those that do use a copy.
const database = join(folder.path, "plants.db");
// A backup of it, which no test changes either.
const backedUp = join(folder.path, "backup.db");

beforeAll(async () => {
  seedStore(database, { plants: 3000 });
  const { code } = await runInProcess(["backup", backedUp, "--database", database]);
  expect(code).toBe(0);
});
afterAll(() => folder[Symbol.dispose]());

const restore = (from: string, to: string, ...flags: string[]) =>
  runInProcess(["restore", from, "--database", to, ...flags]);
const verifyFile = (path: string) => runInProcess(["verify", "--database", path]);

/** A copy of one backup, with its checksum beside it, in a folder of its own. */
function newBackup(): string {
  const path = join(folder.newFolder(), "backup.db");
  copyFileSync(backedUp, path);
  copyFileSync(`${backedUp}.sha256`, `${path}.sha256`);
  return path;
}

test("a backup is restored and verified by its checksum", async () => {
  const restored = await restore(backedUp, folder.newPath());
  expect(restored.err).toMatch(
    /^Restored and checked 3,000 plants: .*\nSHA-256 [0-9a-f]{64}\nDigest of the first 2,048 plants: [0-9a-f]{64}\n$/,
  );
  expect(restored.code).toBe(0);
  const verified = await verifyFile(backedUp);
  expect(verified.err).toContain("checksum of the file is correct");
  expect(verified.code).toBe(0);
});

test("a backup that does not match its checksum is not restored, and damaged for verify", async () => {
  const backup = newBackup();
  const restored = folder.newPath();
  changePlant(backup);
  const refused = await restore(backup, restored);
  expect(refused.err).toContain(`does not match its checksum in ${backup}.sha256`);
  expect(refused.code).toBe(1);
  expect(existsSync(restored)).toBe(false);
  const verified = await verifyFile(backup);
  expect(verified.err).toMatch(/is not sound:\n {2}its checksum is not the one in .*\.sha256/);
  expect(verified.code).toBe(1);
});

test("a backup without its checksum is restored with a warning that names the blocks in which plants were changed, in JSON and even if --quiet too", async () => {
  const backup = newBackup();
  changePlant(backup);
  rmSync(`${backup}.sha256`);
  const { code, err } = await restore(backup, folder.newPath());
  expect(err).toStartWith("Restored 3,000 plants: ");
  expect(err).toContain(
    `plant-store: There is no ${backup}.sha256, so the content of ${backup} was checked only by its digests: 1,024 of 3,000 plants match one. `,
  );
  expect(err).toContain(
    `plant-store: Plants in ${backup} were changed after they were stored, in block 0 (plants 1 to 1024).`,
  );
  expect(code).toBe(0);
  const json = await restore(backup, folder.newPath(), "--json");
  expect(JSON.parse(json.out)).toMatchObject({
    checksummed: false,
    matchedPlants: 1024,
    changedBlocks: [0],
  });
  const quiet = await restore(backup, folder.newPath(), "--quiet");
  expect(quiet.err).toContain(`plant-store: There is no ${backup}.sha256`);
});

test("restore does not overwrite a WAL or a journal beside its target", async () => {
  for (const end of ["-wal", "-journal"]) {
    const target = folder.newPath();
    writeFileSync(target + end, emptyingJournal);
    const { err } = await restore(backedUp, target);
    expect(err).toContain(`${target}${end} already exists. With --replace, restore moves it`);
    expect(readFileSync(target + end).equals(emptyingJournal)).toBe(true);
  }
});

test("a restore removes what an interrupted one left", async () => {
  const target = folder.newPath();
  writeFileSync(`${target}.replacement`, "SQLite format 3\0 and so on");
  writeFileSync(`${target}.replacement-journal`, emptyingJournal);
  expect((await restore(backedUp, target)).code).toBe(0);
  expect(storedPlants(target)).toEqual(storedPlants(database));
  expect(existsSync(`${target}.replacement-journal`)).toBe(false);
});

test.skipIf(lacksSyncShim())(
  "Ctrl-C ends restore --replace at once, in the middle of a statement, and the old store stays",
  async () => {
    using own = temporaryFolder();
    const target = join(own.path, "plants.db");
    copyFileSync(database, target);
    const old = readFileSync(target);
    // SQLite syncs the copy at the end of its statement.
    const syncs = recordSyncs(own.path, ".replacement", "hang");
    syncs.injectFault();
    const args = ["restore", backedUp, "--replace", "--database", target];
    await using restoring = startPlantStore(args, syncs);
    await eventually(() => syncs.paths().includes(`${target}.replacement`));
    restoring.child.kill("SIGINT");
    const { code, err } = await restoring.ended;
    expect(code).toBe(130);
    expect(err).toStartWith("Interrupted while copying");
    expect(readFileSync(target).equals(old)).toBe(true);
    expect(foldersOfOld(target)).toEqual([]);
    syncs.removeFault();
    expect((await plantStore(args, syncs)).code).toBe(0);
    expect(readdirSync(own.path).filter((name) => name.includes("replacement"))).toEqual([]);
  },
);
