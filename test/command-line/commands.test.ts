// What each command prints and where, and its exit codes. Help, misuse, config and ready have files of their own here.
import { afterAll, describe, expect, test } from "bun:test";
import { chmodSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import packageFile from "../../package.json" with { type: "json" };
import { executable, plantStore, startPlantStore } from "../support/command.ts";
import { onEveryEngine } from "../support/engines.ts";
import { eventually } from "../support/eventually.ts";
import { post } from "../support/post-plants.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { runInProcess } from "../support/terminal.ts";
import { startTestService, type TestService } from "../support/test-service.ts";
import { bearer } from "../support/tokens.ts";

const folder = temporaryFolder();
afterAll(() => folder[Symbol.dispose]());
/** A data file that does not exist yet, as a flag. */
const newDatabase = () => ["--database", folder.newPath()];
const run = (line: string, database: readonly string[]) => runInProcess([...line.split(" "), ...database]);

onEveryEngine((engine) => {
  /** A store with one token, which is named greenhouse. */
  async function storeWithToken() {
    const path = await engine.newDatabase();
    const database = ["--database", path];
    const { out } = await run("token create --name greenhouse", database);
    return { path, database, secret: out.trim() };
  }

  /** A store with a plant that the token created. */
  async function storeWithPlant() {
    const store = await storeWithToken();
    await using service = await startTestService({ database: store.path });
    expect(await createPlant(store.secret, service, 1)).toBe(200);
    return store;
  }

  /** Creates a plant with that secret, and returns the status of the response. */
  async function createPlant(secret: string, service: TestService, id: number): Promise<number> {
    const body = `{"id":${id},"name":"a"}`;
    return (await post(service.url, body, bearer(secret))).status;
  }

  describe("a token", () => {
    test("is printed when it is created", async () => {
      const { code, out } = await run("token create --name greenhouse", [
        "--database",
        await engine.newDatabase(),
      ]);
      expect(code).toBe(0);
      expect(out).toMatch(/^pst_[0-9A-Za-z]{49}\n$/);
    });

    test("is accepted by the service", async () => {
      const { path, secret } = await storeWithToken();
      await using service = await startTestService({ database: path });
      expect(await createPlant(secret, service, 1)).toBe(200);
    });

    test("that is rotated while the service runs is accepted with both secrets", async () => {
      const { path, database, secret } = await storeWithToken();
      await using service = await startTestService({ database: path });
      const rotated = (await run("token rotate greenhouse", database)).out.trim();
      await eventually(async () => (await createPlant(rotated, service, 1)) === 200);
      expect(await createPlant(secret, service, 2)).toBe(200);
    });

    test("that is revoked while the service runs is refused with both secrets", async () => {
      const { path, database, secret } = await storeWithToken();
      const rotated = (await run("token rotate greenhouse", database)).out.trim();
      await using service = await startTestService({ database: path });
      expect(await createPlant(rotated, service, 1)).toBe(200);
      expect((await run("token revoke greenhouse", database)).code).toBe(0);
      await eventually(async () => (await createPlant(rotated, service, 2)) === 401);
      expect(await createPlant(secret, service, 3)).toBe(401);
    });

    test("is the creator of a plant, with either secret", async () => {
      const { path, database, secret } = await storeWithToken();
      const rotated = (await run("token rotate greenhouse", database)).out.trim();
      await using service = await startTestService({ database: path });
      await createPlant(secret, service, 1);
      await createPlant(rotated, service, 2);
      expect(await engine.stored(path)).toMatchObject([
        { id: 1n, created_by: "greenhouse" },
        { id: 2n, created_by: "greenhouse" },
      ]);
    });
  });

  test("token list has the state of every token, the oldest first", async () => {
    const { database } = await storeWithPlant();
    await run("token create --name unused", database);
    await run("token rotate greenhouse", database);
    await run("token revoke greenhouse", database);
    expect(JSON.parse((await run("token list --json", database)).out)).toMatchObject([
      { name: "greenhouse", state: "revoked", lastUsedAt: expect.any(String) },
      { name: "unused", state: "live", lastUsedAt: null },
      { name: "greenhouse", state: "revoked" },
    ]);
  });

  test("audit has what was done to a token, the newest first", async () => {
    const { database } = await storeWithToken();
    await run("token rotate greenhouse", database);
    await run("token revoke greenhouse", database);
    expect(JSON.parse((await run("audit --json --limit 2", database)).out)).toMatchObject([
      { action: "token.revoked", subject: "greenhouse", address: null, actor: expect.stringMatching(/^os:/) },
      { action: "token.rotated", at: expect.stringMatching(/^\d{4}-.*Z$/) },
    ]);
  });

  test.each([
    ["list --limit 1", /greenhouse/],
    ["show 1 --json", /"createdBy": "greenhouse"/],
    ["export", /^\{"id":1,"name":"a"/],
  ])("%s prints a plant", async (line, plant) => {
    const { database } = await storeWithPlant();
    const { code, out } = await run(line, database);
    expect(code).toBe(0);
    expect(out).toMatch(plant);
  });
});

// test/access/secrets.test.ts holds that no secret is in them.
describe("a list of tokens", () => {
  async function databaseWithToken() {
    const database = newDatabase();
    await run("token create --name ops --scope operator --expires 90d", database);
    return database;
  }

  test("is a table", async () => {
    const { out } = await run("token list", await databaseWithToken());
    expect(out).toMatch(
      /^id +name +scopes +createdAt +createdBy +lastUsedAt +state\n[0-9a-f]{8} +ops +operator +\S+ +os:\S+ +- +live until/,
    );
  });

  test("has no digest in its JSON", async () => {
    const { out } = await run("token list --json", await databaseWithToken());
    const fields = "createdAt createdBy expiresAt id lastUsedAt name revokedAt scopes state";
    expect(Object.keys(JSON.parse(out)[0]).sort()).toEqual(fields.split(" "));
  });
});

test("audit prints a table", async () => {
  const database = newDatabase();
  await run("token create --name ops", database);
  const { out } = await run("audit", database);
  expect(out).toMatch(/^at +actor +action +subject +address +detail\n/);
});

describe("--quiet", () => {
  test("keeps the data that a command prints", async () => {
    const created = await run("token create --name a --quiet", newDatabase());
    expect(created).toEqual({ code: 0, out: expect.stringMatching(/^pst_\w{49}\n$/), err: "" });
  });

  // BACKUP stands for a file that does not exist.
  test.each(["token revoke a", "list", "verify", "backup BACKUP"])(
    "leaves no message of %s",
    async (line) => {
      const database = newDatabase();
      await run("token create --name a", database);
      const finished = await run(
        `${line.replace("BACKUP", join(folder.path, "quiet.db"))} --quiet`,
        database,
      );
      expect(finished).toEqual({ code: 0, out: "", err: "" });
    },
  );

  test("leaves an error and its exit code", async () => {
    const database = newDatabase();
    await run("token create --name a", database);
    const missing = await run("show 5 --quiet", database);
    expect(missing).toEqual({ code: 1, out: "", err: "plant-store: No plant has the id 5.\n" });
  });
});

// The standard error of the executable is no journal here.
test.skipIf(executable !== undefined)("an id that no plant has is an error in the journal too", async () => {
  const database = newDatabase();
  await run("token create --name a", database);
  const { err } = await runInProcess(["show", "5", ...database], { terminal: { errIsJournal: true } });
  expect(err).toBe("<3>plant-store: No plant has the id 5.\n");
});

describe("a file with a secret that other users can read", () => {
  /** A new file, which any user of the machine can read. */
  function exposedFile(text: string): string {
    const path = join(folder.newFolder(), "secret");
    chmodSync(dirname(path), 0o755);
    writeFileSync(path, text);
    chmodSync(path, 0o644);
    return path;
  }

  test("is warned of by import, which reads a token from it", async () => {
    const token = exposedFile("a-token-of-twenty-characters\n");
    const environment = { PLANT_STORE_ACCESS_TOKEN_FILE: token };
    const { err } = await runInProcess(["import", "nowhere"], { environment });
    expect(err).toStartWith(`plant-store: Other users can read or write ${token}, which has mode 644; `);
  });

  test("is warned of by a command that opens a store, if it has the database's password", async () => {
    const password = exposedFile("hidden\n");
    const environment = { PLANT_STORE_DATABASE_PASSWORD_FILE: password };
    const { err } = await runInProcess(["list", ...newDatabase()], { environment });
    expect(err).toStartWith(`plant-store: Other users can read or write ${password}, which has mode 644; `);
  });

  test("is not warned of by a command that does not read it", async () => {
    const environment = { PLANT_STORE_ACCESS_TOKEN_FILE: exposedFile("a-token-of-twenty-characters\n") };
    const { err } = await runInProcess(["list", ...newDatabase()], { environment });
    expect(err).toStartWith("plant-store: There is no data file at ");
  });
});

test.each(["version", "--version", "-v"])("%s prints the version", async (argument) => {
  expect(await runInProcess([argument])).toMatchObject({ code: 0, out: `${packageFile.version}\n` });
});

describe("the process", () => {
  test("writes data to standard output and messages to standard error", async () => {
    const created = await plantStore(["token", "create", "--name", "a", ...newDatabase()]);
    expect(created.code).toBe(0);
    expect(created.out).toMatch(/^pst_\w{49}\n$/);
    expect(created.err).toMatch(
      /Token \w \(\w{8}\) allows plants:create\.\nSave the secret now; it is not shown again:\n$/,
    );
  });

  // It may not be where its user expects it.
  test("says that it created the data file", async () => {
    const database = newDatabase();
    const create = (name: string) => plantStore(["token", "create", "--name", name, ...database]);
    expect((await create("a")).err).toStartWith(`Created the data file ${database[1]}.\n`);
    expect((await create("b")).err).toStartWith("Token b ");
  });

  test("that is misused exits with 2", async () => {
    const { code, out } = await plantStore(["sevre"]);
    expect(code).toBe(2);
    expect(out).toBe("");
  });

  test("that Ctrl-C interrupts exits with 130", async () => {
    const connected = Promise.withResolvers<void>();
    const fetch = () => {
      connected.resolve();
      return new Promise<Response>(() => {});
    };
    using silent = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch });
    const args = ["ready", "--url", silent.url.origin];
    await using running = startPlantStore(args, { ownGroup: true, through: "launcher" });
    await connected.promise;
    process.kill(-(running.child.pid ?? 0), "SIGINT");
    const { code, err } = await running.ended;
    // Without the launcher, the shell makes the code of the signal.
    expect(code ?? running.child.signalCode).toBe(executable === undefined ? 130 : "SIGINT");
    expect(err).toBe("");
  });
});
