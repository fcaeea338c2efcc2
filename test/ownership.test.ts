import { describe, expect, test } from "bun:test";
import { spawn, spawnSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { writeMarker } from "../src/storage/sqlite/failure-marker.ts";
import { executable, watch } from "./command.ts";
import { eventually, startTestService, temporaryFolder } from "./harness.ts";
import { lacks } from "./lacks.ts";
import { isRoot } from "./postgres-files.ts";
import { runInProcess } from "./terminal.ts";

// No machine has a passwd entry for it.
const user = 54_321;
const asUser = { uid: user, gid: user, cwd: "/", env: {} };
const main = fileURLToPath(new URL("../src/main.ts", import.meta.url));
const [command = "", ...first] = executable === undefined ? [process.execPath, main] : [executable];

function runAsUser(args: readonly string[]): { code: number | null; out: string; err: string } {
  const ran = spawnSync(command, [...first, ...args], { ...asUser, encoding: "utf8" });
  return { code: ran.status, out: ran.stdout, err: ran.stderr };
}

/** A folder that belongs to the user. */
function userFolder(): { readonly path: string } & Disposable {
  const folder = temporaryFolder();
  chownSync(folder.path, user, user);
  return folder;
}

/** Everything in the folder that does not belong to its owner. */
function ownedByOthers(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) => {
    const { uid, gid } = statSync(join(folder, name));
    return uid !== user || gid !== user;
  });
}

// Only root can become another user. In a checkout below a folder that is only root's, no other user can run it.
const canRun = isRoot && runAsUser(["version"]).code === 0;

describe.skipIf(lacks("root", !canRun))("a user without a passwd entry and without HOME", () => {
  test("runs the service, and the audit trail names it by its uid", async () => {
    using folder = userFolder();
    const database = join(folder.path, "plants.db");
    const args = ["serve", "--listen", "127.0.0.1:0", "--operator-listen", "off", "--database", database];
    const service = spawn(command, [...first, ...args], asUser);
    const said = watch(service);
    await eventually(() => said.err().includes('"listening"') || service.exitCode !== null);
    service.kill("SIGTERM");
    expect(await said.ended).toMatchObject({ code: 0 });
    const { out } = runAsUser(["audit", "--json", "--database", database]);
    expect(JSON.parse(out)).toMatchObject([{ action: "token.created", actor: `os:uid-${user}` }]);
  });

  test("runs doctor", () => {
    using folder = userFolder();
    const listeners = ["--listen", "127.0.0.1:0", "--operator-listen", "off"];
    const args = ["doctor", "--database", join(folder.path, "plants.db"), ...listeners];
    const { code, out, err } = runAsUser(args);
    expect([code, err]).toEqual([0, ""]);
    expect(out).toContain(`${folder.path}, mode 700, owner uid-${user}`);
  });

  test("is told whose file it cannot open", () => {
    using folder = userFolder();
    const file = join(folder.path, "plants.db");
    const serve = ["serve", "--listen", "127.0.0.1:0", "--operator-listen", "off"];
    const refusal = (denied: string) => ({
      code: 1,
      out: "",
      err: `plant-store: ${denied} cannot be opened: permission denied. It belongs to uid 0: change its owner with chown, or run this as that user.\n`,
    });
    expect(runAsUser(["token", "create", "--name", "a", "--database", file]).code).toBe(0);
    for (const ending of ["", "-wal", "-shm", ".lock", ".failure.json"]) {
      const denied = `${file}${ending}`;
      if (!existsSync(denied)) writeFileSync(denied, "");
      chmodSync(denied, 0o600);
      chownSync(denied, 0, 0);
      expect(runAsUser([...serve, "--database", file])).toEqual(refusal(denied));
      if (ending === "") expect(runAsUser(["list", "--database", file])).toEqual(refusal(file));
      chownSync(denied, user, user);
    }
    chmodSync(file, 0o444);
    chownSync(file, 0, 0);
    expect(runAsUser([...serve, "--database", file])).toEqual(refusal(file));
  });
});

describe.skipIf(lacks("root", !isRoot))("what root creates belongs to the owner of its folder", () => {
  test("a new data file, its folders, its lock, its WAL and the first token", async () => {
    using folder = userFolder();
    const database = join(folder.path, "new", "nested", "plants.db");
    await using _ = await startTestService({}, database, {
      PLANT_STORE_ACCESS_TOKEN: "",
      PLANT_STORE_OPERATOR_TOKEN: "",
    });
    expect(ownedByOthers(folder.path)).toEqual([]);
    expect(readdirSync(join(folder.path, "new/nested")).sort()).toEqual(
      ["", "-shm", "-wal", ".first-token", ".lock"].map((ending) => `plants.db${ending}`),
    );
  });

  test("what commands create, so that the service can use it", async () => {
    using folder = userFolder();
    mkdirSync(join(folder.path, "backups"));
    chownSync(join(folder.path, "backups"), user, user);
    const database = join(folder.path, "plants.db");
    const [backup, restored, copied] = ["backup.db", "restored.db", "copied.db"].map((name) =>
      join(folder.path, name),
    ) as [string, string, string];
    for (const args of [
      ["token", "create", "--name", "a"],
      ["backup", backup],
      ["backup", join(folder.path, "backups")],
    ])
      expect((await runInProcess([...args, "--database", database])).code).toBe(0);
    expect((await runInProcess(["restore", backup, "--database", restored])).code).toBe(0);
    expect((await runInProcess(["copy", "--from", database, "--to", copied])).code).toBe(0);
    writeMarker(restored, "sync-failed");
    expect(ownedByOthers(folder.path)).toEqual([]);
  });

  test("but neither a file that was already there, nor what a link leads to", async () => {
    using folder = userFolder();
    using elsewhere = temporaryFolder();
    const database = join(folder.path, "plants.db");
    writeFileSync(database, "");
    writeFileSync(join(elsewhere.path, "marker"), "");
    chmodSync(elsewhere.path, 0o755);
    symlinkSync(join(elsewhere.path, "marker"), `${database}.failure.json`);
    symlinkSync(join(elsewhere.path, "lock"), `${database}.lock`);
    writeMarker(database, "sync-failed");
    await runInProcess(["token", "create", "--name", "a", "--database", database]);
    expect(statSync(database).uid).toBe(0);
    expect(readdirSync(elsewhere.path)).toEqual(["marker"]);
    expect(statSync(join(elsewhere.path, "marker"))).toMatchObject({ uid: 0, size: 0 });
  });
});
