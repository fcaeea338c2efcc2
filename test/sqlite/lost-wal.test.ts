// A data file without the WAL that it was left with: it is refused, and one that needs none is not.
import { Database } from "bun:sqlite";
import { afterAll, beforeAll, beforeEach, describe, expect, spyOn, test } from "bun:test";
import { copyFileSync, existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { readUseWithoutWal } from "../../src/storage/sqlite/data-file/store-use.ts";
import { SqliteStore } from "../../src/storage/sqlite/sqlite-store.ts";
import { openTokenFile } from "../../src/storage/sqlite/sqlite-tokens.ts";
import { serve } from "../support/command.ts";
import { crashedStore } from "../support/crashed-store.ts";
import { useFolderForEachTest } from "../support/folder-for-each-test.ts";
import { openAsNextStart } from "../support/next-start.ts";
import { auditEntry, testToken } from "../support/open-engine-store.ts";
import { post } from "../support/post-plants.ts";
import { createEmptyStore } from "../support/seeded-store.ts";
import { storedPlants, testPlant } from "../support/stored-plants.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { runInProcess } from "../support/terminal.ts";
import { accessTokenEnvironment } from "../support/tokens.ts";

const lost = "it lacks the plants that were only there";

const folder = useFolderForEachTest();

/** The names and bytes of the files in the folder, without those that a command may create: lock files, and what a reader needs. */
function filesIn(path: string): Record<string, string> {
  const names = readdirSync(path).filter((name) => !/\.lock$|^other\.db-/.test(name));
  return Object.fromEntries(names.map((name) => [name, readFileSync(join(path, name), "base64")]));
}

describe("a data file in use without its WAL", () => {
  const made = temporaryFolder();
  const madeFile = join(made.path, "plants.db");
  // Five plants are in the WAL alone.
  beforeAll(() => crashedStore(madeFile, 8, { checkpointed: 3 }));
  afterAll(() => made[Symbol.dispose]());
  beforeEach(() => copyFileSync(madeFile, folder.dataFile));

  test("is refused by whatever writes to it or copies it, without a change of any file", async () => {
    const other = join(folder.path, "other.db");
    createEmptyStore(other);
    const before = filesIn(folder.path);
    const writing = ["serve", "token create --name a", "token revoke a", "backup -", "verify"];
    writing.push(`backup ${join(folder.path, "backup.db")}`);
    const commands = writing.map((command) => `${command} --database ${folder.dataFile}`);
    commands.push(`copy --from ${folder.dataFile} --to ${other}`);
    commands.push(`copy --from ${other} --to ${folder.dataFile}`);
    for (const command of commands) {
      const refused = await runInProcess(command.split(" "), { environment: accessTokenEnvironment });
      expect({ command, ...refused }).toEqual({
        command,
        code: 1,
        out: "",
        err: expect.stringContaining(lost),
      });
      expect(filesIn(folder.path)).toEqual(before);
      // The likeliest case first.
      if (command.startsWith("serve"))
        expect(refused.err).toMatch(/\n {2}No file was changed\. If this is a copy .*\n.*\n.*\n$/);
    }
  });

  test("is read by other commands with a warning and without a change", async () => {
    const before = readFileSync(folder.dataFile);
    for (const command of ["list", "show 1", "export", "audit", "token list"]) {
      const { code, err } = await runInProcess([...command.split(" "), "--database", folder.dataFile]);
      expect({ command, code, err }).toEqual({ command, code: 0, err: expect.stringContaining(lost) });
      expect(readFileSync(folder.dataFile).equals(before)).toBe(true);
    }
  });

  test("fails a check of doctor, which says what to do", async () => {
    const { code, out } = await runInProcess(["doctor", "--json", "--database", folder.dataFile]);
    const { findings } = JSON.parse(out);
    const found = findings.find(({ check }: { check: string }) => check === "data file");
    expect(found.outcome).toBe("fail");
    expect(found.message).toContain("plant-store restore BACKUP --replace");
    expect(code).toBe(1);
  });
});

test("the mark of a data file is not changed by a command that writes tokens alone", async () => {
  createEmptyStore(folder.dataFile);
  await using file = openTokenFile(folder.dataFile, { mayCreate: false });
  await file.tokens.add(testToken("greenhouse"), auditEntry("token.created"));
  expect(readUseWithoutWal(folder.dataFile)).toBe("closed");
});

describe("a stop", () => {
  test("leaves the WAL to the next start where a reader keeps it from checkpointing", async () => {
    const store = new SqliteStore(folder.dataFile);
    using reader = new Database(folder.dataFile, { readonly: true });
    reader.run("BEGIN");
    reader.query("SELECT count(*) FROM plants").get();
    await store.plants.create([testPlant(1)], 1);
    await store[Symbol.asyncDispose]();
    expect(readUseWithoutWal(folder.dataFile)).toBe("in use");
    reader.close();
    openAsNextStart(folder.dataFile);
    expect(storedPlants(folder.dataFile)).toHaveLength(1);
  });

  // After the error the process ends without closing the database.
  test("that cannot write the mark leaves the WAL to the next start", async () => {
    const store = new SqliteStore(folder.dataFile);
    await store.plants.create([testPlant(1)], 1);
    using other = new Database(folder.dataFile);
    other.run("BEGIN IMMEDIATE");
    using _impatient = spyOn(Database.prototype, "run").mockImplementation(withoutLockWait);
    await expect(store[Symbol.asyncDispose]()).rejects.toThrow(
      "was not closed: another process has locked it. Every acknowledged plant is on disk",
    );
    other.run("ROLLBACK");
    expect(readUseWithoutWal(folder.dataFile)).toBe("in use");
    // The lock is held until the process ends.
    const left = join(folder.path, "left.db");
    for (const end of ["", "-wal"]) copyFileSync(folder.dataFile + end, left + end);
    openAsNextStart(left);
    expect(storedPlants(left)).toHaveLength(1);
  });
});

const { run } = Database.prototype;

/** Runs SQL on a connection that waits for no lock, however long it is told to. */
function withoutLockWait(this: Database, ...given: Parameters<typeof run>) {
  const [sql, ...bindings] = given;
  return run.call(this, sql.replace(/busy_timeout = \d+/, "busy_timeout = 0"), ...bindings);
}

test("a killed service starts again with its WAL, which a token command that outlives it leaves", async () => {
  await using service = await serve(["--database", folder.dataFile], { environment: accessTokenEnvironment });
  {
    await using file = openTokenFile(folder.dataFile, { mayCreate: false });
    await file.tokens.all();
    expect((await post(service.url, '{"id":1,"name":"fern"}')).status).toBe(200);
    service.child.kill("SIGKILL");
    await service.ended;
  }
  expect(existsSync(`${folder.dataFile}-wal`)).toBe(true);
  openAsNextStart(folder.dataFile);
  expect(storedPlants(folder.dataFile)).toHaveLength(1);
});
