// Digests of blocks of plants: which changes verify finds by them, and that it raises no false alarm.
import { Database } from "bun:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { chmodSync, copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { verifyDataFile } from "../../src/storage/sqlite/copying/verify.ts";
import { lastBackupFile, whyUnrecorded } from "../../src/storage/sqlite/data-file/last-backup.ts";
import { runBitFlips, runLives } from "../soak/digests.ts";
import { seededRandom } from "../soak/rounds.ts";
import { caught } from "../support/caught.ts";
import { lacks, lacksProgram } from "../support/lacks.ts";
import { memoize } from "../support/memoize.ts";
import { seedStore } from "../support/seeded-store.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { runInProcess } from "../support/terminal.ts";

// Two full blocks, and some plants that are in none.
const plants = 2500;
const covered = 2048;
const folder = temporaryFolder();
const sound = join(folder.path, "sound.db");
beforeAll(() => seedStore(sound, { plants, fromMs: 1_700_000_000_000, untilMs: 1_700_000_100_000 }));
afterAll(() => folder[Symbol.dispose]());

/** A copy of the store in a folder of its own, changed by SQL. */
function copyOfStore(sql = ""): string {
  const file = join(folder.newFolder(), "plant-store.db");
  copyFileSync(sound, file);
  if (sql !== "") change(file, sql);
  return file;
}

function change(file: string, sql: string): void {
  using database = new Database(file);
  database.run(sql);
}

// The digest of the store, or "none".
const digestOfSound = memoize(async () => (await verifyDataFile(sound)).digest ?? "none");

describe("verify", () => {
  test.each([
    ["an id", "id = id + 1"],
    ["a name, in case only", "name = upper(name)"],
    ["an empty tag instead of none", "tag = '', name = name"],
    ["a time, within those of its block", "created_at_ms = created_at_ms + 1"],
    ["a creator", "created_by = 'someone'"],
    ["a byte that is not UTF-8", "name = CAST(CAST(name AS BLOB) || x'ff' AS TEXT)"],
  ])("names the block with %s changed", async (_, changed) => {
    // Plant 1023 has no tag.
    const { problems } = await verifyDataFile(copyOfStore(`UPDATE plants SET ${changed} WHERE seq = 1023`));
    expect(problems).toContain(
      "block 0 (plants 1 to 1024): the plants differ from the digest that was stored with them",
    );
    expect(problems.join("\n")).not.toContain("block 1 (");
  });

  test("names plants that are gone, before the first one, or whose name is not text", async () => {
    const problemsAfter = async (sql: string) => (await verifyDataFile(copyOfStore(sql))).problems;
    expect(await problemsAfter("DELETE FROM plants WHERE seq > 2000")).toContain(
      "block 1 (plants 1025 to 2048): the plants differ from the digest that was stored with them",
    );
    expect(await problemsAfter("DELETE FROM plants WHERE seq > 1024")).toContain(
      "block 1 (plants 1025 to 2048): there is a digest, but no plant",
    );
    expect(await problemsAfter("DELETE FROM plants WHERE seq IN (2300, 2301)")).toContain(
      "2 of the plants 2049 to 2500 are missing",
    );
    // What is before the first plant is in no list and no export.
    const hidden =
      "INSERT INTO plants (seq, id, name, created_at_ms, created_by) VALUES (-3, 777, 'a', 1, 'x')";
    expect(await problemsAfter(hidden)).toContain("1023 of the plants -1023 to 0 are missing");
    const notText = await problemsAfter("UPDATE plants SET name = CAST(x'ff' AS TEXT) WHERE seq = 7");
    expect(notText[0]).toMatch(/^the plant with the id -?\d+: its name is not text$/);
  });

  test("says how many plants it compared with a digest, of all that it checked", async () => {
    const { code, err } = await runInProcess(["verify", "--database", sound]);
    expect(err).toMatch(/\nDigest of the first 2,048 plants: [0-9a-f]{64}\n/);
    expect(code).toBe(0);
    expect(err).toContain(
      "no damage found. 2,500 plants checked: 2,048 against the digests stored with them, 452 for form only.\n",
    );
  });

  test("finds a single flipped bit", async () => {
    const run = { rounds: 8, random: seededRandom(36), tell: () => {} };
    const { failure } = await runBitFlips(run, { blocks: 2, charactersMean: 200 });
    expect(failure).toBeUndefined();
  }, 30_000);

  test("raises no false alarm after a kill, a full disk, other programs, restores, rebuilds and copies", async () => {
    const run = { rounds: 1, random: seededRandom(36), tell: () => {} };
    const { failure } = await runLives(run, { everyStep: true });
    expect(failure).toBeUndefined();
  }, 60_000);
});

describe("a backup", () => {
  test("has the digest of its store", async () => {
    const { code, out } = await runInProcess(["backup", folder.newPath(), "--json", "--database", sound]);
    expect(code).toBe(0);
    const digest = await digestOfSound();
    expect(JSON.parse(out)).toMatchObject({ coveredPlants: covered, digest, changedBlocks: [] });
  });

  test("of a store whose plants were changed fails with their blocks, and removes no older one", async () => {
    const file = copyOfStore();
    const to = folder.newFolder();
    const backUp = () => runInProcess(["backup", to, "--keep", "1", "--database", file]);
    await backUp();
    change(file, "UPDATE plants SET name = 'Changed' WHERE seq = 1500");
    const { code, err } = await backUp();
    expect(code).toBe(1);
    expect(err).toContain("were changed after they were stored, in block 1 (plants 1025 to 2048).");
    expect(readdirSync(to).filter((name) => name.endsWith(".db"))).toHaveLength(2);
  });

  test("is found by verify to have the plants of the data file", async () => {
    const file = copyOfStore();
    expect((await runInProcess(["backup", `${file}.backup`, "--database", file])).code).toBe(0);
    const { err } = await runInProcess(["verify", "--database", file]);
    expect(err).toMatch(/\nIts first 2,048 plants are those of the last backup, made at 2.*Z\.\n$/);
  });

  test("that ends during verify is not compared, as it may have plants that were not checked", async () => {
    const file = copyOfStore();
    const ofMore = { atMs: 1, plants: covered + 1024, coveredPlants: covered + 1024, digest: "0".repeat(64) };
    const { problems, lastBackup } = await verifyDataFile(file, ({ doing }) => {
      if (doing === "checking the rows of") whyUnrecorded(file, ofMore);
    });
    expect(problems).toEqual([]);
    expect(lastBackup).toBeUndefined();
    // The next one compares it: a store with fewer plants was put back, or has lost some. A small backup has no digest.
    for (const record of [ofMore, { ...ofMore, coveredPlants: 0, digest: null }]) {
      whyUnrecorded(file, record);
      expect((await verifyDataFile(file)).problems.join()).toContain("an older state was put back");
    }
  });

  test("whose record cannot be read is reported by verify", async () => {
    const file = copyOfStore();
    mkdirSync(lastBackupFile(file));
    expect(String(await caught(verifyDataFile(file)))).toContain(`${lastBackupFile(file)} cannot be opened`);
  });

  test("shows verify a change that someone hid by a change of the digests", async () => {
    const file = copyOfStore();
    expect((await runInProcess(["backup", `${file}.backup`, "--database", file])).code).toBe(0);
    change(file, "UPDATE plants SET name = 'Changed' WHERE seq = 5; DELETE FROM block_digests");
    expect((await verifyDataFile(file)).problems.join("\n")).toMatch(
      /its first 2048 plants are not those of the last backup, made at 2/,
    );
  });
});

// Some machines have sqlite3. On the others, a program of ours stands in for it.
const hasSqlite3 = spawnSync("sqlite3", ["--version"]).status === 0;
const lacksSha256sum = lacksProgram("sha256sum");
describe.each([
  ["sqlite3", lacks("sqlite3", !hasSqlite3) || lacksSha256sum],
  ["a program that stands in for sqlite3", lacksSha256sum],
])("the commands of docs/backup.md, with %s and sha256sum", (program, isMissing) => {
  const page = readFileSync(join(import.meta.dir, "../../docs/backup.md"), "utf8");
  const section = page.slice(page.indexOf("\n## Digests"));
  const [, script = ""] = /```sh\n(.*?)```/s.exec(section) ?? [];

  /** Runs them in a folder where the store is `data/plant-store.db`; returns the SHA-256. */
  function run(): string {
    const place = join(folder.path, program);
    mkdirSync(join(place, "data"), { recursive: true });
    copyFileSync(sound, join(place, "data/plant-store.db"));
    const shim = join(place, "sqlite3");
    writeFileSync(
      shim,
      `#!/bin/sh\nexec '${process.execPath}' '${join(import.meta.dir, "../shims/sqlite3.ts")}' "$@"\n`,
    );
    chmodSync(shim, 0o700);
    const path = process.env["PATH"] ?? "";
    const environment = { PATH: program === "sqlite3" ? path : `${place}:${path}` };
    const { stdout } = spawnSync("bash", ["-c", script], { cwd: place, encoding: "utf8", env: environment });
    return stdout.slice(0, 64);
  }

  test.skipIf(isMissing)("compute the digest of the store", async () => {
    expect(run()).toBe(await digestOfSound());
  });
});
