// Users, owners and modes of files: who runs a command, what it may not open, and to whom its files belong.
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
import { dirname, join } from "node:path";
import { whyFailureUnrecorded } from "../../src/storage/sqlite/data-file/failure-marker.ts";
import { commandLine, ownProcess, untilListening } from "../support/command.ts";
import { lacks } from "../support/lacks.ts";
import { isRoot } from "../support/postgres.ts";
import { type TemporaryFolder, temporaryFolder } from "../support/temporary-folder.ts";
import { runInProcess, serveInProcess } from "../support/terminal.ts";
import { startTestService } from "../support/test-service.ts";
import { accessToken } from "../support/tokens.ts";

// No machine has a passwd entry for it.
const user = 54_321;
const asUser = { uid: user, gid: user, cwd: "/", env: { USER: "root", LOGNAME: "root" } };

/** As a user whom permissions concern: root is none. */
function runAsUser(args: readonly string[]): { code: number | null; out: string; err: string } {
  const ran = spawnSync(...commandLine(args), { ...asUser, encoding: "utf8" });
  return { code: ran.status, out: ran.stdout, err: ran.stderr };
}

/** A folder that belongs to the user. */
function userFolder(): TemporaryFolder {
  const folder = temporaryFolder();
  chownSync(folder.path, user, user);
  return folder;
}

/** A data file with one token in that folder. What root creates belongs to the owner of the folder. */
async function createToken(folder: string): Promise<string> {
  const file = join(folder, "plants.db");
  const { code } = await runInProcess(["token", "create", "--name", "a", "--database", file]);
  expect(code).toBe(0);
  return file;
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
const listeners = ["--listen", "127.0.0.1:0", "--operator-listen", "off"];
const denied = (
  file: string,
  whose = `It belongs to uid 0, and this runs as uid ${user}: change its owner or its mode.`,
) => ({
  code: 1,
  out: "",
  err: `plant-store: ${file} cannot be opened: permission denied. ${whose}\n`,
});

describe.skipIf(lacks("root", !canRun))("a user without a passwd entry and without HOME", () => {
  test("is told which old backup it may not remove", async () => {
    using folder = userFolder();
    const file = await createToken(folder.path);
    const to = folder.newPath();
    mkdirSync(to);
    // Sticky: a user may add files, and remove only their own.
    chmodSync(to, 0o1777);
    expect((await runInProcess(["backup", to, "--database", file])).code).toBe(0);
    for (const name of readdirSync(to)) chmodSync(join(to, name), 0o644);
    const [old = ""] = readdirSync(to).sort();
    const { code, err } = runAsUser(["backup", to, "--keep", "1", "--database", file]);
    expect(code).toBe(1);
    expect(err).toContain(` is complete, but the old ${join(to, old)} cannot be removed: `);
  });

  test("leaves no -shm and -wal file after reading a data file that it may not write to", async () => {
    using folder = userFolder();
    const file = await createToken(folder.path);
    chmodSync(file, 0o400);
    const before = readdirSync(folder.path);
    for (const command of ["list", "verify"]) {
      expect(runAsUser([command, "--database", file])).toMatchObject({ code: 0 });
      expect({ command, files: readdirSync(folder.path) }).toEqual({ command, files: before });
    }
    // With files of that mode, this could not write.
    chmodSync(file, 0o600);
    expect(runAsUser(["token", "create", "--name", "b", "--database", file])).toMatchObject({ code: 0 });
  });

  test("runs doctor and the service, whose audit trail names it by its uid", async () => {
    using folder = userFolder();
    const database = ["--database", join(folder.path, "plants.db")];
    const doctor = runAsUser(["doctor", ...database, ...listeners]);
    expect(doctor).toEqual({ code: 0, out: expect.stringContaining(`${folder.path}: `), err: "" });
    await using service = await untilListening(
      ownProcess(spawn(...commandLine(["serve", ...database, ...listeners]), asUser)),
    );
    service.child.kill("SIGTERM");
    expect(await service.ended).toMatchObject({ code: 0 });
    const { out } = await runInProcess(["audit", "--json", ...database]);
    expect(JSON.parse(out)).toMatchObject([{ action: "token.created", actor: `os:uid-${user}` }]);
  });

  test.each([
    ["serve", "plants.db", 0o600],
    ["serve", "plants.db", 0o444],
    ["serve", "plants.db-wal", 0o600],
    ["serve", "plants.db-shm", 0o600],
    ["serve", "plants.db.lock", 0o600],
    ["serve", "plants.db.failure.json", 0o600],
    ["list", "plants.db", 0o600],
  ])("is told by %s that it cannot open %s of mode %o, and whose that is", async (command, name, mode) => {
    using folder = userFolder();
    const file = await createToken(folder.path);
    const path = join(folder.path, name);
    if (!existsSync(path)) writeFileSync(path, "");
    chmodSync(path, mode);
    chownSync(path, 0, 0);
    const args = command === "serve" ? ["serve", ...listeners] : [command];
    expect(runAsUser([...args, "--database", file])).toEqual(denied(path));
  });

  test("is told by serve that it may not list the folder of its data file, which causes no rebuild", async () => {
    using folder = userFolder();
    const file = await createToken(folder.path);
    chmodSync(folder.path, 0o300);
    const ownMode = `It belongs to uid ${user}, and this runs as uid ${user}: change its owner or its mode.`;
    expect(runAsUser(["serve", ...listeners, "--database", file])).toEqual(denied(folder.path, ownMode));
    expect(existsSync(`${file}.failure.json`)).toBe(false);
  });

  test("is told whose folder it cannot enter", async () => {
    using folder = temporaryFolder();
    const closed = join(folder.path, "closed");
    chmodSync(folder.path, 0o755);
    mkdirSync(closed);
    const file = await createToken(closed);
    chmodSync(closed, 0);
    const whose = `The folder ${closed} belongs to uid 0, and this runs as uid ${user}: change its owner or its mode.`;
    for (const args of [["list"], ["token", "create", "--name", "b"], ["verify"]])
      expect(runAsUser([...args, "--database", file])).toEqual(denied(file, whose));
    const restored = runAsUser(["restore", file, "--database", join(folder.path, "new.db")]);
    expect(restored).toEqual(denied(file, whose));
    const doctor = runAsUser(["doctor", "--database", file]);
    expect(doctor).toMatchObject({ code: 1, out: expect.stringContaining(`uid-${user} may not write to`) });
  });
});

/** The name that `id` prints, and the actor of a command of that user, as the audit trail has it, if USER says otherwise. */
async function namesOf(identity: { readonly uid?: number; readonly gid?: number }) {
  using folder = temporaryFolder();
  const { uid = 0, gid = 0 } = identity;
  if (isRoot) chownSync(folder.path, uid, gid);
  const database = ["--database", join(folder.path, "plants.db")];
  const options = { cwd: "/", env: { USER: "alice", LOGNAME: "alice", HOME: "/" }, ...identity } as const;
  spawnSync(...commandLine(["token", "create", "--name", "a", ...database]), options);
  const { stdout } = spawnSync("id", ["-un"], { ...identity, encoding: "utf8" });
  const { out } = await runInProcess(["audit", "--json", ...database]);
  return { name: `os:${stdout.trim()}`, actor: JSON.parse(out)[0].actor };
}

test("the actor of a command is the user whose uid it has, whatever USER says, also if root became that user", async () => {
  const { name, actor } = await namesOf({});
  expect(actor).toBe(name);
  if (!canRun) return;
  const { stdout: uid } = spawnSync("id", ["-u", "nobody"], { encoding: "utf8" });
  expect((await namesOf({ uid: Number(uid), gid: Number(uid) })).actor).toBe("os:nobody");
});

describe.skipIf(lacks("root", !isRoot))("in a folder of another user, root", () => {
  test("gives that user a new data file, its folders, its lock, its WAL and the first token", async () => {
    using folder = userFolder();
    const database = join(folder.path, "new", "nested", "plants.db");
    const environment = { PLANT_STORE_ACCESS_TOKEN: "", PLANT_STORE_OPERATOR_TOKEN: "" };
    await using _service = await startTestService({ database }, environment);
    expect(ownedByOthers(folder.path)).toEqual([]);
    const endings = ["", "-shm", "-wal", ".first-token", ".last-backup.json", ".lock"];
    expect(readdirSync(dirname(database)).sort()).toEqual(endings.map((ending) => `plants.db${ending}`));
  });

  test("gives that user what the commands create, a failure marker and its copy with the old files", async () => {
    using folder = userFolder();
    const file = await createToken(folder.path);
    const inFolder = (name: string) => join(folder.path, name);
    mkdirSync(inFolder("backups"));
    chownSync(inFolder("backups"), user, user);
    const run = async (...args: string[]) => expect((await runInProcess(args)).code).toBe(0);
    await run("backup", inFolder("backup.db"), "--database", file);
    await run("backup", inFolder("backups"), "--database", file);
    await run("restore", inFolder("backup.db"), "--database", inFolder("restored.db"));
    await run("copy", "--from", file, "--to", inFolder("copied.db"));
    whyFailureUnrecorded(file, "overwritten");
    expect(readdirSync(folder.path)).toContain("plants.db.failure.json");
    await run("restore", inFolder("backup.db"), "--replace", "--database", file);
    expect(ownedByOthers(folder.path)).toEqual([]);
  });

  test("does not give away a file that was already there", async () => {
    using folder = userFolder();
    writeFileSync(join(folder.path, "plants.db"), "");
    const file = await createToken(folder.path);
    expect(statSync(file).uid).toBe(0);
  });

  test("writes no marker through a link", () => {
    using folder = userFolder();
    using elsewhere = temporaryFolder();
    chmodSync(elsewhere.path, 0o755);
    const database = join(folder.path, "plants.db");
    const marker = join(elsewhere.path, "marker");
    writeFileSync(marker, "");
    symlinkSync(marker, `${database}.failure.json`);
    whyFailureUnrecorded(database, "sync-failed");
    expect(statSync(marker)).toMatchObject({ uid: 0, size: 0 });
  });
});

test("the folders and files that a service creates are for its own user alone", async () => {
  using folder = temporaryFolder();
  await using _service = await startTestService({ database: join(folder.path, "new/nested/plants.db") });
  const paths = ["new", "new/nested", "new/nested/plants.db", "new/nested/plants.db-wal"];
  const modes = paths.map((path) => (statSync(join(folder.path, path)).mode & 0o777).toString(8));
  expect(modes).toEqual(["700", "700", "600", "600"]);
});

test.each([
  [0o755, 0o644, 0o602, ["token, which has mode 602", "plants.db, which has mode 644"]],
  [0o755, 0o660, 0o440, []],
  [0o750, 0o644, 0o644, []],
])(
  "a start warns, in a folder of mode %o, of a data file of %o and a token of %o, if others can read them",
  async (folderMode, dataMode, tokenMode, expected) => {
    using folder = temporaryFolder();
    const data = join(folder.path, "plants.db");
    const token = join(folder.path, "token");
    writeFileSync(data, "");
    writeFileSync(token, accessToken);
    chmodSync(folder.path, folderMode);
    chmodSync(data, dataMode);
    chmodSync(token, tokenMode);
    await using service = await serveInProcess(["--database", data], {
      PLANT_STORE_ACCESS_TOKEN_FILE: token,
    });
    const lines = service.err().split("\n");
    const warnings = lines.filter((line) => line.includes('"warn"')).map((line) => JSON.parse(line).message);
    expect(warnings).toEqual(
      expected.map((which) => `other users can read or write ${folder.path}/${which}; run chmod 600 on it`),
    );
  },
);
