import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { type DatabaseServer, startServer } from "./engines.ts";
import { post, startTestService, storedPlants, temporaryFolder } from "./harness.ts";
import { runInProcess } from "./terminal.ts";

describe("copy", () => {
  let server: DatabaseServer;
  beforeAll(async () => {
    server = await startServer();
  });
  afterAll(() => server[Symbol.asyncDispose]());

  test("copies every plant and token exactly, from a file to PostgreSQL and back", async () => {
    using folder = temporaryFolder();
    const file = join(folder.path, "first.db");
    const secret = (
      await runInProcess(["token", "create", "--name", "courier", "--database", file])
    ).out.trim();
    const courier = { Authorization: `Bearer ${secret}` };
    {
      await using running = await startTestService({}, file);
      await Promise.all(
        Array.from({ length: 1100 }, (_, index) =>
          post(
            running.url,
            `{"id":${2n ** 63n - 1n - BigInt(index)},"name":"n ${index} \\u00e9","tag":"t${index % 3}"}`,
            courier,
          ),
        ),
      );
      await post(running.url, '{"id":-9223372036854775808,"name":"last"}');
    }
    const url = await server.newDatabase();
    const there = await runInProcess(["copy", "--from", file, "--to", url]);
    expect([there.code, there.err]).toEqual([
      0,
      "1,101 plants copied, 0 already stored, 1 token copied; 1,101 compared, all identical.\n",
    ]);
    expect(await server.stored(url)).toEqual(storedPlants(file));

    const back = join(folder.path, "back.db");
    expect((await runInProcess(["copy", "--from", url, "--to", back])).code).toBe(0);
    expect(storedPlants(back)).toEqual(storedPlants(file));
    await using again = await startTestService({}, back);
    const replay = await post(again.url, `{"id":${2n ** 63n - 1n},"name":"n 0 é","tag":"t0"}`, courier);
    expect([replay.status, replay.headers.get("idempotent-replayed")]).toEqual([200, "true"]);
  }, 60_000);

  test("resumes when run again, and reports differences", async () => {
    using folder = temporaryFolder();
    const file = join(folder.path, "first.db");
    const url = await server.newDatabase();
    await using running = await startTestService({}, file);
    for (let id = 0; id < 5; id++) await post(running.url, JSON.stringify({ id, name: `n${id}` }));
    expect((await runInProcess(["copy", "--from", file, "--to", url])).code).toBe(0);
    await post(running.url, '{"id":5,"name":"n5"}');
    expect((await runInProcess(["copy", "--from", file, "--to", url])).err).toStartWith(
      "1 plant copied, 5 already stored",
    );
    {
      await using other = await startTestService({}, url);
      await post(other.url, '{"id":6,"name":"not that one"}');
    }
    await post(running.url, '{"id":6,"name":"this one"}');
    const { code, err, out } = await runInProcess(["copy", "--from", file, "--to", url, "--json"]);
    expect([code, err]).toEqual([
      1,
      expect.stringContaining("the plant with the id 6 has another name and time there"),
    ]);
    expect(JSON.parse(out)).toMatchObject({ created: 0, replayed: 6, compared: 7 });
  }, 60_000);

  test("a token that was revoked or has expired in either store stays so", async () => {
    using folder = temporaryFolder();
    const [from, to] = [join(folder.path, "first.db"), await server.newDatabase()];
    const copied = async () =>
      JSON.parse((await runInProcess(["copy", "--from", from, "--to", to, "--json"])).out);
    const token = (database: string, ...args: string[]) =>
      runInProcess(["token", ...args, "--database", database]);
    const list = async (database: string): Promise<{ id: string; name: string; state: string }[]> =>
      JSON.parse((await token(database, "list", "--json")).out);
    for (const name of ["rotated there", "revoked there", "rotated here", "revoked here"])
      expect((await token(from, "create", "--name", name, "--expires", "30d")).code).toBe(0);
    const originals = new Set((await list(from)).map(({ id }) => id));
    expect(await copied()).toMatchObject({ tokens: 4 });
    for (const [database, where] of [
      [to, "there"],
      [from, "here"],
    ] as const) {
      await token(database, "rotate", `rotated ${where}`, "--overlap", "0s");
      await token(database, "revoke", `revoked ${where}`);
    }
    for (const tokens of [3, 0]) {
      expect(await copied()).toMatchObject({ tokens });
      const states = (await list(to)).map(({ id, name, state }) => [
        `${originals.has(id) ? "" : "new "}${name}`,
        state,
      ]);
      expect(Object.fromEntries(states)).toEqual({
        "rotated there": "expired",
        "new rotated there": "live",
        "revoked there": "revoked",
        "rotated here": "expired",
        "new rotated here": "live",
        "revoked here": "revoked",
      });
    }
  }, 60_000);

  test("needs two different databases", async () => {
    for (const args of [[], ["--from", "a.db"], ["--from", "a.db", "--to", "a.db"]])
      expect((await runInProcess(["copy", ...args])).code).toBe(2);
    expect((await runInProcess(["copy", "--from", "/nowhere/a.db", "--to", "b.db"])).err).toContain(
      "does not exist",
    );
  });
});
