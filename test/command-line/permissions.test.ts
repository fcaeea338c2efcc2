// Users, owners and modes of files: who runs a command, what it may not open, and to whom its files belong.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
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
import { writeMarker } from "../../src/storage/sqlite/data-file/failure-marker.ts";
import { commandLine, ownProcess, untilListening } from "../support/command.ts";
import { lacks } from "../support/lacks.ts";
import { isRoot } from "../support/postgres.ts";
import { type TemporaryFolder, temporaryFolder } from "../support/temporary-folder.ts";
import { runInProcess, serveInProcess } from "../support/terminal.ts";
import { startTestService } from "../support/test-service.ts";
import { accessToken } from "../support/tokens.ts";

// No machine has a passwd entry for it.
const user = 54_321;
const asUser = { uid: user, gid: user, cwd: "/", env: {} };

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
const denied = (file: string, whose: string) => ({
  code: 1,
  out: "",
  err: `plant-store: ${file} cannot be opened: permission denied. ${whose} belongs to uid 0: change its owner with chown, or run this as that user.\n`,
});

describe.skipIf(lacks("root", !canRun))("a user without a passwd entry and without HOME", () => {
  test.each(["list", "verify", "export"])(
    "leaves no -shm and -wal file after %s of a data file that it may only read",
    async (command) => {
      using folder = userFolder();
      const args = ["--database", join(folder.path, "plants.db")];
      await createToken(folder.path);
      chmodSync(join(folder.path, "plants.db"), 0o400);
      const before = readdirSync(folder.path);
      expect(runAsUser([command, ...args])).toMatchObject({ code: 0 });
      expect(readdirSync(folder.path)).toEqual(before);
      // With files of that mode, this could not write.
      chmodSync(join(folder.path, "plants.db"), 0o600);
      expect(runAsUser(["token", "create", "--name", "b", ...args])).toMatchObject({ code: 0 });
    },
  );

  test("runs doctor", () => {
    using folder = userFolder();
    const database = ["--database", join(folder.path, "plants.db")];
    expect(runAsUser(["doctor", ...database, ...listeners])).toEqual({
      code: 0,
      out: expect.stringContaining(`${folder.path}, `),
      err: "",
    });
  });

  test("is named by its uid in the audit trail of the service that it runs", async () => {
    using folder = userFolder();
    const database = ["--database", join(folder.path, "plants.db")];
    await using service = await untilListening(
      ownProcess(spawn(...commandLine(["serve", ...database, ...listeners]), asUser)),
    );
    service.child.kill("SIGTERM");
    expect(await service.ended).toMatchObject({ code: 0 });
    const { out } = runAsUser(["audit", "--json", ...database]);
    expect(JSON.parse(out)).toMatchObject([{ action: "token.created", actor: `os:uid-${user}` }]);
  });

  test.each([
    { name: "plants.db", mode: "600" },
    { name: "plants.db", mode: "444" },
    { name: "plants.db-wal", mode: "600" },
    { name: "plants.db-shm", mode: "600" },
    { name: "plants.db.lock", mode: "600" },
    { name: "plants.db.failure.json", mode: "600" },
  ])("is told by serve whose $name of mode $mode it cannot open", async ({ name, mode }) => {
    using folder = userFolder();
    const file = await createToken(folder.path);
    const path = join(folder.path, name);
    if (!existsSync(path)) writeFileSync(path, "");
    chmodSync(path, Number.parseInt(mode, 8));
    chownSync(path, 0, 0);
    expect(runAsUser(["serve", ...listeners, "--database", file])).toEqual(denied(path, "It"));
  });

  describe("that may not list the folder of its data file", () => {
    async function serveUnlisted() {
      using folder = userFolder();
      const file = await createToken(folder.path);
      chmodSync(folder.path, 0o300);
      const { code, err } = runAsUser(["serve", ...listeners, "--database", file]);
      return { code, err, folder: folder.path, hasMarker: existsSync(`${file}.failure.json`) };
    }

    test("is told so by serve", async () => {
      const { code, err, folder } = await serveUnlisted();
      expect(code).toBe(1);
      expect(err).toBe(
        `plant-store: ${folder} cannot be opened: permission denied. It belongs to this user: change its mode with chmod.\n`,
      );
    });

    test("causes no rebuild at the next start", async () => {
      const { hasMarker } = await serveUnlisted();
      expect(hasMarker).toBe(false);
    });
  });

  test("is told by list whose data file it cannot open", async () => {
    using folder = userFolder();
    const file = await createToken(folder.path);
    chownSync(file, 0, 0);
    expect(runAsUser(["list", "--database", file])).toEqual(denied(file, "It"));
  });

  describe("is told whose folder it cannot enter", () => {
    const folder = temporaryFolder();
    const closed = join(folder.path, "closed");
    const file = join(closed, "plants.db");
    beforeAll(async () => {
      chmodSync(folder.path, 0o755);
      mkdirSync(closed);
      await createToken(closed);
      chmodSync(closed, 0);
    });
    afterAll(() => folder[Symbol.dispose]());

    test.each([
      ["list", ["--database", file]],
      ["token create", ["--name", "b", "--database", file]],
      ["verify", ["--database", file]],
      ["restore", [file, "--database", join(folder.path, "new.db")]],
    ])("by %s", (command, options) => {
      const args = [...command.split(" "), ...options];
      expect(runAsUser(args)).toEqual(denied(file, `The folder ${closed}`));
    });

    test("by doctor", () => {
      const { code, out } = runAsUser(["doctor", "--database", file]);
      expect(code).toBe(1);
      expect(out).toContain(`uid-${user} may not write to`);
    });
  });
});

/** Who created the token, as the audit trail says, when this user runs the command with this USER in its environment. */
async function actorOf(uid: number | undefined, claimed: string): Promise<string> {
  using folder = temporaryFolder();
  if (uid !== undefined) chownSync(folder.path, uid, uid);
  const database = ["--database", join(folder.path, "plants.db")];
  const options = {
    cwd: "/",
    env: { USER: claimed, LOGNAME: claimed, HOME: "/" },
    encoding: "utf8",
  } as const;
  const asOther = uid === undefined ? {} : { uid, gid: uid };
  const run = (args: readonly string[]) => spawnSync(...commandLine(args), { ...options, ...asOther });
  run(["token", "create", "--name", "a", ...database]);
  const { out } = await runInProcess(["audit", "--json", ...database]);
  const [entry] = JSON.parse(out);
  return entry.actor;
}

describe("the actor of a command is the user whose uid it has", () => {
  test("whatever USER says", async () => {
    const { stdout: name } = spawnSync("id", ["-un"], { encoding: "utf8" });
    expect(await actorOf(undefined, "alice")).toBe(`os:${name.trim()}`);
  });

  test.skipIf(lacks("root", !canRun))("if root has become another user", async () => {
    const { stdout: uid } = spawnSync("id", ["-u", "nobody"], { encoding: "utf8" });
    expect(await actorOf(Number(uid), "root")).toBe("os:nobody");
  });

  test.skipIf(lacks("root", !canRun))("by its uid if it has no passwd entry", async () => {
    expect(await actorOf(user, "root")).toBe(`os:uid-${user}`);
  });
});

describe.skipIf(lacks("root", !isRoot))("what root creates belongs to the owner of its folder", () => {
  test("a new data file, its folders, its lock, its WAL and the first token", async () => {
    using folder = userFolder();
    const database = join(folder.path, "new", "nested", "plants.db");
    await using _ = await startTestService(
      { database },
      {
        PLANT_STORE_ACCESS_TOKEN: "",
        PLANT_STORE_OPERATOR_TOKEN: "",
      },
    );
    expect(ownedByOthers(folder.path)).toEqual([]);
    expect(readdirSync(dirname(database)).sort()).toEqual(
      ["", "-shm", "-wal", ".first-token", ".lock"].map((ending) => `plants.db${ending}`),
    );
  });

  test("what token create creates", async () => {
    using folder = userFolder();
    await createToken(folder.path);
    expect(ownedByOthers(folder.path)).toEqual([]);
  });

  test.each<[command: string, args: (inFolder: (name: string) => string) => string[]]>([
    ["backup to a file", (inFolder) => ["backup", inFolder("b.db"), "--database", inFolder("plants.db")]],
    [
      "backup to a folder",
      (inFolder) => {
        mkdirSync(inFolder("backups"));
        chownSync(inFolder("backups"), user, user);
        return ["backup", inFolder("backups"), "--database", inFolder("plants.db")];
      },
    ],
    ["restore", (inFolder) => ["restore", inFolder("plants.db"), "--database", inFolder("restored.db")]],
    ["copy", (inFolder) => ["copy", "--from", inFolder("plants.db"), "--to", inFolder("copied.db")]],
  ])("what %s creates", async (_, args) => {
    using folder = userFolder();
    await createToken(folder.path);
    const { code } = await runInProcess(args((name) => join(folder.path, name)));
    expect(code).toBe(0);
    expect(ownedByOthers(folder.path)).toEqual([]);
  });

  test("what restore --replace creates, and the copy of a marker with the old files", async () => {
    using folder = userFolder();
    const file = await createToken(folder.path);
    const backup = join(folder.path, "backup.db");
    expect((await runInProcess(["backup", backup, "--database", file])).code).toBe(0);
    writeMarker(file, "replaced");
    expect((await runInProcess(["restore", backup, "--replace", "--database", file])).code).toBe(0);
    expect(ownedByOthers(folder.path)).toEqual([]);
  });

  test("a failure marker", () => {
    using folder = userFolder();
    writeMarker(join(folder.path, "plants.db"), "sync-failed");
    expect(readdirSync(folder.path)).toEqual(["plants.db.failure.json"]);
    expect(ownedByOthers(folder.path)).toEqual([]);
  });
});

describe.skipIf(lacks("root", !isRoot))("root gives away", () => {
  test("no file that was already there", async () => {
    using folder = userFolder();
    const database = join(folder.path, "plants.db");
    writeFileSync(database, "");
    await createToken(folder.path);
    expect(statSync(database).uid).toBe(0);
  });

  test("no file that a link leads to", () => {
    using folder = userFolder();
    using elsewhere = temporaryFolder();
    const marker = join(elsewhere.path, "marker");
    writeFileSync(marker, "");
    chmodSync(elsewhere.path, 0o755);
    const database = join(folder.path, "plants.db");
    symlinkSync(marker, `${database}.failure.json`);
    writeMarker(database, "sync-failed");
    expect(statSync(marker)).toMatchObject({ uid: 0, size: 0 });
  });
});

test.skipIf(lacks("root", !isRoot))("root creates no lock through a link", async () => {
  using folder = userFolder();
  using elsewhere = temporaryFolder();
  const database = join(folder.path, "plants.db");
  chmodSync(elsewhere.path, 0o755);
  symlinkSync(join(elsewhere.path, "lock"), `${database}.lock`);
  const { code, err } = await runInProcess(["token", "create", "--name", "a", "--database", database]);
  expect(code).toBe(1);
  expect(err).toContain("cannot be opened: no such file or directory");
  expect(readdirSync(elsewhere.path)).toEqual([]);
});

test.each([
  ["folder above that of its data file", "new", 0o700],
  ["folder of its data file", "new/nested", 0o700],
  ["data file", "new/nested/plants.db", 0o600],
  ["WAL", "new/nested/plants.db-wal", 0o600],
])("the %s that a service creates is for its own user alone", async (_, path, mode) => {
  using folder = temporaryFolder();
  await using _service = await startTestService({ database: join(folder.path, "new/nested/plants.db") });
  expect(statSync(join(folder.path, path)).mode & 0o777).toBe(mode);
});

test.each([
  [
    "that others can read or write cause warnings",
    { folder: 0o755, data: 0o644, token: 0o602 },
    [
      "other users can read or write token, which has mode 602; run chmod 600 on it",
      "other users can read or write plants.db, which has mode 644; run chmod 600 on it",
    ],
  ],
  ["of the owner and the group cause none", { folder: 0o755, data: 0o660, token: 0o440 }, []],
  ["in a folder that others cannot enter cause none", { folder: 0o750, data: 0o644, token: 0o644 }, []],
])("a data file and a token file %s", async (_, modes, expected) => {
  using folder = temporaryFolder();
  const inner = join(folder.path, "data");
  mkdirSync(inner);
  chmodSync(inner, modes.folder);
  const data = join(inner, "plants.db");
  writeFileSync(data, "");
  chmodSync(data, modes.data);
  const token = join(inner, "token");
  writeFileSync(token, accessToken);
  chmodSync(token, modes.token);
  await using service = await serveInProcess(["--database", data], { PLANT_STORE_ACCESS_TOKEN_FILE: token });
  const lines = service.err().split("\n");
  const warnings = lines.filter((line) => line.includes('"warn"')).map((line) => JSON.parse(line).message);
  expect(warnings.map((message) => message.replaceAll(`${inner}/`, ""))).toEqual(expected);
});
