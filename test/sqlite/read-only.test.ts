// Reading changes nothing: a data file on read-only media, and what a command that only reads leaves beside a data file.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, readdirSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { expectOneLine, unshareArguments } from "../support/command.ts";
import { crashedStore } from "../support/crashed-store.ts";
import { lacksMounts } from "../support/lacks.ts";
import { seedStore } from "../support/seeded-store.ts";
import { storedPlants } from "../support/stored-plants.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { runInProcess } from "../support/terminal.ts";

const plants = 3000;
const folder = temporaryFolder();
const database = join(folder.path, "plants.db");
beforeAll(() => seedStore(database, { plants }));
afterAll(() => folder[Symbol.dispose]());

describe.skipIf(lacksMounts())("on read-only media", () => {
  test("a data file with a name that is special in a URI is verified, listed, backed up and copied", () => {
    const media = join(folder.path, "media, read only");
    const file = join(media, "plants 100%?#.db");
    mkdirSync(media);
    copyFileSync(database, file);
    const { err } = runOnReadOnly(media, "verify", "--database", file);
    expect(err).toContain("3,000 plants checked: 2,048 against the digests");
    const filter = ["--tag", "indoor", "--name", "monstera"];
    expect(runOnReadOnly(media, "list", ...filter, "--database", file).out).toContain("Monstera");
    const backup = folder.newPath();
    expect(runOnReadOnly(media, "backup", backup, "--database", file).code).toBe(0);
    expect(storedPlants(backup)).toEqual(storedPlants(database));
    const copy = folder.newPath();
    expect(runOnReadOnly(media, "copy", "--from", file, "--to", copy).code).toBe(0);
    expect(storedPlants(copy)).toHaveLength(plants);
  });

  test("a WAL that SQLite cannot read there is not ignored", async () => {
    const media = folder.newFolder();
    const file = join(media, "plants.db");
    await crashedStore(file, 1);
    const { code, err } = runOnReadOnly(media, "list", "--database", file);
    expect(code).toBe(1);
    expect(err).toContain("copy both files into another folder");
    expectOneLine(err);
  });
});

test.each(["list", "verify"])(
  "%s leaves nothing beside a closed data file that keeps it from being complete, and nothing beside a backup",
  async (command) => {
    const own = folder.newFolder();
    const file = join(own, "plants.db");
    copyFileSync(database, file);
    expect((await runInProcess([command, "--database", file])).code).toBe(0);
    // SQLite makes both, and a reader removes no file.
    expect(readdirSync(own).sort()).toEqual(["plants.db", "plants.db-shm", "plants.db-wal"]);
    expect(statSync(`${file}-wal`).size).toBe(0);
    const backup = join(folder.newFolder(), "backup.db");
    expect((await runInProcess(["backup", backup, "--database", file])).code).toBe(0);
    expect((await runInProcess([command, "--database", backup])).code).toBe(0);
    expect(readdirSync(dirname(backup))).toEqual(["backup.db", "backup.db.sha256"]);
  },
);

/** Runs a command in a mount namespace of its own, in which nobody can write to the folder. */
function runOnReadOnly(media: string, ...args: string[]) {
  const script = `mount --bind '${media}' '${media}' && mount -o remount,ro,bind '${media}' && exec "$@"`;
  const shell = unshareArguments(script, args);
  const { status, stdout, stderr } = spawnSync("unshare", shell, {
    encoding: "utf8",
    env: { PATH: process.env["PATH"] ?? "" },
  });
  return { code: status, out: stdout, err: stderr };
}
