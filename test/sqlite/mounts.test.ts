// A data file that is mounted by itself: its WAL would be on another file system.
import { beforeEach, describe, expect, test } from "bun:test";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { start, unshareArguments } from "../support/command.ts";
import { crashedStore } from "../support/crashed-store.ts";
import { useFolderForEachTest } from "../support/folder-for-each-test.ts";
import { lacksMounts } from "../support/lacks.ts";
import { openAsNextStart } from "../support/next-start.ts";
import { storedPlants } from "../support/stored-plants.ts";
import { accessTokenEnvironment } from "../support/tokens.ts";

const folder = useFolderForEachTest();
describe.skipIf(lacksMounts())("a data file that is mounted by itself", () => {
  /** Runs a command in a mount namespace of its own, with the data file mounted over a path of that name. */
  async function runMounted(args: readonly string[], mounted = join(folder.path, "elsewhere", "a b.db")) {
    const mount = `touch '${mounted}' && mount --bind '${folder.dataFile}' '${mounted}'`;
    const onMounted = args.map((arg) => arg.replace("MOUNTED", mounted));
    const shell = unshareArguments(`${mount} && exec "$@"`, onMounted);
    return start("unshare", shell, { environment: accessTokenEnvironment }).ended;
  }

  beforeEach(async () => {
    mkdirSync(join(folder.path, "elsewhere"));
    await crashedStore(folder.dataFile, 3);
    openAsNextStart(folder.dataFile);
  });

  test.each(["serve", "doctor", "restore MOUNTED --replace"])("is refused by %s", async (command) => {
    const { code, out, err } = await runMounted([...command.split(" "), "--database", "MOUNTED"]);
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
