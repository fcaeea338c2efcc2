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
    const file = ["--database", join(folder.path, "first.db")];
    const target = ["--database", await server.newDatabase()];
    const copy = () => runInProcess(["copy", "--from", file[1] ?? "", "--to", target[1] ?? "", "--json"]);
    const token = (...args: string[]) => runInProcess(["token", ...args]);
    const states = async () => {
      const { out } = await token("list", "--json", ...target);
      const tokens = JSON.parse(out) as { id: string; name: string; state: string }[];
      return Object.fromEntries(
        tokens.map(({ id, name, state }) => [firsts.get(id) ?? `new ${name}`, state]),
      );
    };
    const names = ["rotated there", "shortened there", "revoked there", "rotated here", "revoked here"];
    for (const name of names) {
      const life = name === "shortened there" ? ["--expires", "30d"] : [];
      expect((await token("create", "--name", name, ...life, ...file)).code).toBe(0);
    }
    const listed = JSON.parse((await token("list", "--json", ...file)).out) as { id: string; name: string }[];
    const firsts = new Map(listed.map(({ id, name }) => [id, name]));
    expect((await copy()).code).toBe(0);
    await token("rotate", "rotated there", "--overlap", "0s", ...target);
    await token("rotate", "shortened there", "--overlap", "0s", ...target);
    await token("revoke", "revoked there", ...target);
    await token("rotate", "rotated here", "--overlap", "0s", ...file);
    await token("revoke", "revoked here", ...file);
    const expected = {
      "rotated there": "expired",
      "new rotated there": "live",
      "shortened there": "expired",
      "new shortened there": "live",
      "revoked there": "revoked",
      "rotated here": "expired",
      "new rotated here": "live",
      "revoked here": "revoked",
    };
    expect(JSON.parse((await copy()).out)).toMatchObject({ tokens: 3 });
    expect(await states()).toEqual(expected);
    expect(JSON.parse((await copy()).out)).toMatchObject({ tokens: 0 });
    expect(await states()).toEqual(expected);
  }, 60_000);

  test("needs two different databases", async () => {
    for (const args of [[], ["--from", "a.db"], ["--from", "a.db", "--to", "a.db"]])
      expect((await runInProcess(["copy", ...args])).code).toBe(2);
    expect((await runInProcess(["copy", "--from", "/nowhere/a.db", "--to", "b.db"])).err).toContain(
      "does not exist",
    );
  });
});
