// What each command prints and where, and its exit codes. Help, misuse, config and ready have files of their own here.
import { afterAll, describe, expect, test } from "bun:test";
import { chmodSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import packageFile from "../../package.json" with { type: "json" };
import { plantStore, startPlantStore } from "../support/command.ts";
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
  test("the service accepts both secrets of a token from its creation until it is revoked", async () => {
    const path = await engine.newDatabase();
    const database = ["--database", path];
    const created = await run("token create --name greenhouse", database);
    const secret = created.out.trim();
    expect(created.code).toBe(0);
    expect(created.out).toMatch(/^pst_[0-9A-Za-z]{49}\n$/);
    expect((await run("token create --name unused", database)).code).toBe(0);

    {
      await using service = await startTestService({ database: path });
      expect(await createPlant(secret, service, 1)).toBe(200);
      const rotated = (await run("token rotate greenhouse", database)).out.trim();
      await eventually(async () => (await createPlant(rotated, service, 2)) === 200);
      expect(await createPlant(secret, service, 3)).toBe(200);
      expect((await run("token revoke greenhouse", database)).code).toBe(0);
      await eventually(async () => (await createPlant(rotated, service, 2)) === 401);
      expect(await createPlant(secret, service, 3)).toBe(401);
    }

    const stored = await engine.stored(path);
    expect(stored.map(({ id, created_by }) => [id, created_by])).toEqual([
      [1n, "greenhouse"],
      [2n, "greenhouse"],
      [3n, "greenhouse"],
    ]);
    // The oldest first.
    expect(JSON.parse((await run("token list --json", database)).out)).toMatchObject([
      { name: "greenhouse", state: "revoked", lastUsedAt: expect.any(String) },
      { name: "unused", state: "live" },
      { name: "greenhouse", state: "revoked" },
    ]);
    // The newest first.
    expect(JSON.parse((await run("audit --json --limit 2", database)).out)).toMatchObject([
      { action: "token.revoked", subject: "greenhouse", actor: expect.stringMatching(/^os:/) },
      { action: "token.rotated", at: expect.stringMatching(/^\d{4}-.*Z$/) },
    ]);
  });

  test("list, show and export print the plants that were created with either secret of a token", async () => {
    const path = await engine.newDatabase();
    const database = ["--database", path];
    const secret = (await run("token create --name greenhouse", database)).out.trim();
    const rotated = (await run("token rotate greenhouse", database)).out.trim();
    {
      await using service = await startTestService({ database: path });
      expect(await createPlant(secret, service, 1)).toBe(200);
      expect(await createPlant(rotated, service, 2)).toBe(200);
    }
    const listed = await run("list", database);
    expect(listed.code).toBe(0);
    expect(listed.out).toMatch(/^2 .* greenhouse\n1 .* greenhouse\n$/m);
    const shown = await run("show 1 --json", database);
    expect(shown.code).toBe(0);
    expect(shown.out).toContain('"createdBy": "greenhouse"');
    const exported = await run("export", database);
    expect(exported.code).toBe(0);
    expect(exported.out).toStartWith('{"id":1,"name":"a"');
  });
});

/** Creates a plant with that secret, and returns the status of the response. */
async function createPlant(secret: string, service: TestService, id: number): Promise<number> {
  const body = `{"id":${id},"name":"a"}`;
  return (await post(service.url, body, bearer(secret))).status;
}

// test/access/secrets.test.ts holds that no secret is in them.
test("token list prints a table, or JSON without digests", async () => {
  const database = newDatabase();
  await run("token create --name ops --scope operator --expires 90d", database);
  const table = await run("token list", database);
  expect(table.out).toMatch(
    /^id +state +until +lastUsedAt +name +scopes +createdBy\n[0-9a-f]{8} +live +\S+Z +- +ops +operator +os:/,
  );
  const json = await run("token list --json", database);
  const fields = "createdAt createdBy expiresAt id name scopes state";
  expect(Object.keys(JSON.parse(json.out)[0]).sort()).toEqual(fields.split(" "));
});

test("audit prints a table", async () => {
  const database = newDatabase();
  await run("token create --name ops", database);
  const { out } = await run("audit", database);
  expect(out).toMatch(/^at +action +actor +subject +address +detail\n\S+Z +Created a token +os:/);
});

describe("--quiet", () => {
  test("keeps the data that a command prints", async () => {
    const created = await run("token create --name a --quiet", newDatabase());
    expect(created).toEqual({ code: 0, out: expect.stringMatching(/^pst_\w{49}\n$/), err: "" });
  });

  test("leaves only the error of a command, and its exit code", async () => {
    const database = newDatabase();
    await run("token create --name a", database);
    for (const line of ["list", "verify", `backup ${join(folder.path, "quiet.db")}`, "token revoke a"]) {
      const finished = await run(`${line} --quiet`, database);
      expect({ line, ...finished }).toEqual({ line, code: 0, out: "", err: "" });
    }
    const missing = await run("show 5 --quiet", database);
    expect(missing).toEqual({ code: 1, out: "", err: "plant-store: No plant has the id 5.\n" });
  });
});

test("a command warns of the file of a secret that it reads, if other users can read that too", async () => {
  const file = join(folder.newFolder(), "secret");
  chmodSync(dirname(file), 0o755);
  writeFileSync(file, "a-secret-of-twenty-characters\n");
  chmodSync(file, 0o644);
  const token = { PLANT_STORE_ACCESS_TOKEN_FILE: file };
  const password = { PLANT_STORE_DATABASE_PASSWORD_FILE: file };
  const warning = `plant-store: Other users can read or write ${file}, which has mode 644; `;
  const errOf = async (args: readonly string[], environment: Record<string, string>) =>
    (await runInProcess(args, { environment })).err;
  expect(await errOf(["import", "nowhere"], token)).toStartWith(warning);
  expect(await errOf(["list", ...newDatabase()], password)).toStartWith(warning);
  // It needs no token.
  expect(await errOf(["list", ...newDatabase()], token)).toStartWith(
    "plant-store: There is no data file at ",
  );
});

test.each(["version", "--version", "-v"])("%s prints the version", async (argument) => {
  expect(await runInProcess([argument])).toMatchObject({ code: 0, out: `${packageFile.version}\n` });
});

describe("the process", () => {
  test("writes data to standard output, and messages to standard error", async () => {
    const database = newDatabase();
    const create = (name: string) => plantStore(["token", "create", "--name", name, ...database]);
    const first = await create("a");
    expect(first.code).toBe(0);
    expect(first.out).toMatch(/^pst_\w{49}\n$/);
    // It may not be where its user expects it.
    expect(first.err).toStartWith(`Created the data file ${database[1]}.\n`);
    expect(first.err).toMatch(
      /Token \w \(\w{8}\) allows plants:create\.\nSave the secret now; it is not shown again:\n$/,
    );
    expect((await create("b")).err).toStartWith("Token b ");
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
    expect(code).toBe(130);
    expect(err).toBe("");
  });
});
