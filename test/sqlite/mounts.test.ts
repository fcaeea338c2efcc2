// A data file with a second name, by a hard link or a mount: two writers never have it open.
import { Database } from "bun:sqlite";
import { beforeEach, describe, expect, test } from "bun:test";
import { existsSync, linkSync, mkdirSync, readdirSync, rmSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { serve, start, unshareArguments } from "../support/command.ts";
import { crashedStore } from "../support/crashed-store.ts";
import { useFolderForEachTest } from "../support/folder-for-each-test.ts";
import { lacksMounts } from "../support/lacks.ts";
import { openAsNextStart } from "../support/next-start.ts";
import { createStatus } from "../support/post-plants.ts";
import { missingIn, storedPlants } from "../support/stored-plants.ts";
import { runInProcess } from "../support/terminal.ts";
import { startTestService } from "../support/test-service.ts";
import { accessTokenEnvironment } from "../support/tokens.ts";

const folder = useFolderForEachTest();
let link: string;
beforeEach(() => {
  mkdirSync(join(folder.path, "elsewhere"));
  link = join(folder.path, "elsewhere", "linked.db");
});

describe("a data file with a hard link", () => {
  const refused = "open by another name, such as a hard link or a bind mount, with a WAL of its own";

  test("is not opened by the other name while a service runs, which loses no plant", async () => {
    await using service = await serve(["--database", folder.dataFile], {
      environment: accessTokenEnvironment,
    });
    expect(await createStatus(service.url, 1)).toBe(200);
    linkSync(folder.dataFile, link);
    for (const command of ["serve", "token create --name a"]) {
      const args = [...command.split(" "), "--database", link];
      const { code, err } = await runInProcess(args, { environment: accessTokenEnvironment });
      expect(err).toContain(refused);
      expect(code).toBe(1);
      const beside = readdirSync(dirname(link)).filter((name) => !name.endsWith(".lock"));
      expect(beside).toEqual(["linked.db"]);
    }
    // Nor is it accepted as it is.
    const { code } = await runInProcess(["restore", link, "--replace", "--database", link]);
    expect(code).toBe(1);
    expect(await createStatus(service.url, 2)).toBe(200);
    service.child.kill("SIGTERM");
    expect((await service.ended).code).toBe(0);
    expect(missingIn(folder.dataFile, [1, 2])).toEqual([]);
  });

  test("is refused while a program that does not mark it has it open by the other name", async () => {
    await crashedStore(folder.dataFile, 3, { checkpointed: 3 });
    rmSync(`${folder.dataFile}-wal`);
    using database = new Database(folder.dataFile);
    database.run("UPDATE store_use SET state = 'closed'");
    database.query("PRAGMA wal_checkpoint(TRUNCATE)").get();
    linkSync(folder.dataFile, link);
    const { code, err } = await runInProcess(["serve", "--database", link], {
      environment: accessTokenEnvironment,
    });
    expect(code).toBe(1);
    expect(err).toContain(refused);
  });

  test("is served with a warning if no other process has it open, and reported by doctor", async () => {
    await crashedStore(folder.dataFile, 3);
    linkSync(folder.dataFile, link);
    const { out } = await runInProcess(["doctor", "--database", folder.dataFile]);
    expect(out).toContain("It has 2 names (hard links).");
    await using service = await startTestService({ database: folder.dataFile });
    expect(service.logged.join("")).toContain("the data file has several names (hard links)");
    expect(await createStatus(service.url, 4)).toBe(200);
  });

  test("of an interrupted restore has one name once it is served, without a warning", async () => {
    await crashedStore(folder.dataFile, 3);
    linkSync(folder.dataFile, `${folder.dataFile}.partial`);
    await using service = await startTestService({ database: folder.dataFile });
    expect(service.logged.join("")).not.toContain("hard links");
    expect(existsSync(`${folder.dataFile}.partial`)).toBe(false);
    expect(statSync(folder.dataFile).nlink).toBe(1);
  });
});

test("a data file that another process reads by the same name is served", async () => {
  await createStoreOf(1);
  using reader = new Database(folder.dataFile);
  reader.run("BEGIN");
  reader.query("SELECT count(*) FROM plants").get();
  await using service = await startTestService({ database: folder.dataFile });
  expect(await createStatus(service.url, 2)).toBe(200);
});

/** A closed store with that many plants, which needs no WAL. */
async function createStoreOf(plants: number): Promise<void> {
  await crashedStore(folder.dataFile, plants);
  openAsNextStart(folder.dataFile);
}

describe.skipIf(lacksMounts())("a data file that is mounted by itself", () => {
  /** Runs a command in a mount namespace of its own, with the data file mounted over a path of that name. */
  async function runMounted(args: readonly string[], mounted = join(folder.path, "elsewhere", "a b.db")) {
    const mount = `touch '${mounted}' && mount --bind '${folder.dataFile}' '${mounted}'`;
    const onMounted = args.map((arg) => arg.replace("MOUNTED", mounted));
    const shell = unshareArguments(`${mount} && exec "$@"`, onMounted);
    return start("unshare", shell, { environment: accessTokenEnvironment }).ended;
  }

  beforeEach(() => createStoreOf(3));

  test.each(["serve", "doctor"])("is refused by %s", async (command) => {
    const { code, out, err } = await runMounted([command, "--database", "MOUNTED"]);
    expect(code).toBe(1);
    expect(out + err).toContain("is mounted by itself: its WAL would not be on that volume");
  });

  test.each(["list", "verify"])("can be read by %s", async (command) => {
    expect(await runMounted([command, "--database", "MOUNTED"])).toMatchObject({ code: 0 });
  });

  test("can be restored from", async () => {
    const restored = join(folder.path, "restored.db");
    expect(await runMounted(["restore", "MOUNTED", "--database", restored])).toMatchObject({ code: 0 });
    expect(storedPlants(restored)).toHaveLength(3);
  });
});
