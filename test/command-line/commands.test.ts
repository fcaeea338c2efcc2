// What the commands on tokens and plants do on both engines, what they print where, and their exit codes.
import { afterAll, expect, test } from "bun:test";
import { join } from "node:path";
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
  test("the service accepts both secrets of a token until it is revoked, and the commands print what they created", async () => {
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

    // The oldest first, and without digests: test/access/secrets.test.ts holds that no secret is in them.
    const tokens = JSON.parse((await run("token list --json", database)).out);
    expect(tokens).toMatchObject([
      { name: "greenhouse", state: "revoked", lastUsedAt: expect.any(String) },
      { name: "unused", state: "live" },
      { name: "greenhouse", state: "revoked" },
    ]);
    expect(Object.keys(tokens[1]).sort()).toEqual([
      "createdAt",
      "createdBy",
      "id",
      "name",
      "scopes",
      "state",
    ]);
    // The newest first.
    expect(JSON.parse((await run("audit --json --limit 2", database)).out)).toMatchObject([
      { action: "token.revoked", subject: "greenhouse", actor: expect.stringMatching(/^os:/) },
      { action: "token.rotated", at: expect.stringMatching(/^\d{4}-.*Z$/) },
    ]);
    expect(JSON.parse((await run("list --json", database)).out)).toMatchObject(
      ["3", "2", "1"].map((id) => ({ id, createdBy: "greenhouse" })),
    );
    expect(JSON.parse((await run("show 1 --json", database)).out)).toMatchObject({ id: "1", name: "a" });
    expect((await run("export", database)).out).toStartWith('{"id":1,"name":"a"');
  });
});

/** Creates a plant with that secret, and returns the status of the response. */
async function createPlant(secret: string, service: TestService, id: number): Promise<number> {
  return (await post(service.url, `{"id":${id},"name":"a"}`, bearer(secret))).status;
}

test("--quiet leaves only the data that a command prints, and its errors", async () => {
  const database = newDatabase();
  const created = await run("token create --name a --quiet", database);
  expect(created).toEqual({ code: 0, out: expect.stringMatching(/^pst_\w{49}\n$/), err: "" });
  for (const line of ["list", "verify", `backup ${join(folder.path, "quiet.db")}`, "token revoke a"]) {
    const finished = await run(`${line} --quiet`, database);
    expect({ line, ...finished }).toEqual({ line, code: 0, out: "", err: "" });
  }
  const missing = await run("show 5 --quiet", database);
  expect(missing).toEqual({ code: 1, out: "", err: "plant-store: No plant has the id 5.\n" });
});

test.each(["version", "--version", "-v"])("%s prints the version", async (argument) => {
  expect(await runInProcess([argument])).toMatchObject({ code: 0, out: `${packageFile.version}\n` });
});

test("a process writes data to standard output, and messages to standard error", async () => {
  const database = newDatabase();
  const { code, out, err } = await plantStore(["token", "create", "--name", "a", ...database]);
  expect(code).toBe(0);
  expect(out).toMatch(/^pst_\w{49}\n$/);
  // The data file may not be where its user expects it.
  expect(err).toStartWith(`Created the data file ${database[1]}.\nToken a (`);
});

test("a process that Ctrl-C interrupts exits with 130", async () => {
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
  expect(await running.ended).toEqual({ code: 130, out: "", err: "" });
});
