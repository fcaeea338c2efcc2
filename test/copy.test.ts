import { afterAll, beforeAll, expect, test } from "bun:test";
import { join } from "node:path";
import { openStore } from "../src/storage/open-store.ts";
import { type DatabaseServer, startServer } from "./engines.ts";
import { post, startTestService, storedPlants, temporaryFolder } from "./harness.ts";
import { runInProcess } from "./terminal.ts";

const folder = temporaryFolder();
let server: DatabaseServer;
beforeAll(async () => {
  server = await startServer();
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

const copy = (from: string, to: string, ...flags: string[]) =>
  runInProcess(["copy", "--from", from, "--to", to, ...flags]);
const token = (database: string, ...args: string[]) =>
  runInProcess(["token", ...args, "--database", database]);

const nameOf = (id: bigint) => `n ${id} é`;
const tagOf = (id: bigint) => (id % 3n === 0n ? undefined : "t");

async function create(database: string, ids: readonly bigint[], name = nameOf, atMs = 1) {
  await using store = await openStore({ database, databasePassword: undefined, allowUnsafeDatabase: false });
  const plants = ids.map((id) => ({ id, name: name(id), tag: tagOf(id) }));
  await store.plants.create(
    plants.map((plant) => ({ plant, createdBy: "test" })),
    atMs,
  );
}

test("copies every plant and token exactly, from a file to PostgreSQL and back", async () => {
  const file = join(folder.path, "exact.db");
  const back = join(folder.path, "back.db");
  const url = await server.newDatabase();
  const secret = (await token(file, "create", "--name", "courier")).out.trim();
  const greatest = 2n ** 63n - 1n;
  const ids = Array.from({ length: 1100 }, (_, index) => greatest - BigInt(index));
  await create(file, [...ids, -(2n ** 63n)]);
  expect(await copy(file, url)).toMatchObject({
    code: 0,
    err: "1,101 plants copied, 0 already stored, 1 token copied; 1,101 compared, all identical.\n",
  });
  expect(await server.stored(url)).toEqual(storedPlants(file));
  expect((await copy(url, back)).code).toBe(0);
  expect(storedPlants(back)).toEqual(storedPlants(file));
  await using again = await startTestService({}, back);
  const body = `{"id":${greatest},"name":"${nameOf(greatest)}","tag":"t"}`;
  const replay = await post(again.url, body, { Authorization: `Bearer ${secret}` });
  expect([replay.status, replay.headers.get("idempotent-replayed")]).toEqual([200, "true"]);
}, 60_000);

test("resumes when run again, and reports differences", async () => {
  const file = join(folder.path, "resumed.db");
  const url = await server.newDatabase();
  await create(file, [1n, 2n, 3n, 4n, 5n]);
  expect((await copy(file, url)).code).toBe(0);
  await create(file, [6n]);
  expect((await copy(file, url)).err).toStartWith("1 plant copied, 5 already stored");
  await create(url, [7n], () => "another", 2);
  await create(file, [7n]);
  const { code, err, out } = await copy(file, url, "--json");
  const message = "the plant with the id 7 has another name and time there";
  expect([code, err]).toEqual([1, expect.stringContaining(message)]);
  expect(JSON.parse(out)).toMatchObject({ created: 0, replayed: 6, compared: 7 });
}, 60_000);

test("a token that was revoked in either store, or has expired in the first, stays so", async () => {
  const from = join(folder.path, "tokens.db");
  const to = await server.newDatabase();
  const copied = async () => JSON.parse((await copy(from, to, "--json")).out).tokens;
  for (const name of ["revoked there", "rotated here", "revoked here"])
    expect((await token(from, "create", "--name", name)).code).toBe(0);
  expect(await copied()).toBe(3);
  await token(to, "revoke", "revoked there");
  await token(from, "revoke", "revoked here");
  await token(from, "rotate", "rotated here", "--overlap", "0s");
  expect([await copied(), await copied()]).toEqual([3, 0]);
  const listed: { name: string; state: string }[] = JSON.parse((await token(to, "list", "--json")).out);
  expect(listed.map(({ name, state }) => `${name}: ${state}`).sort()).toEqual([
    "revoked here: revoked",
    "revoked there: revoked",
    "rotated here: expired",
    "rotated here: live",
  ]);
}, 60_000);

test("names a plant that the database rejects, and continues with the rest", async () => {
  const file = join(folder.path, "rejected.db");
  const url = await server.newDatabase();
  await create(file, [1n, 2n, 5n, 6n], (id) => (id === 5n ? "weed" : "fern"));
  await create(url, []);
  await server.run("ALTER TABLE plants ADD CONSTRAINT no_weeds CHECK (name <> 'weed')", url);
  const { code, err, out } = await copy(file, url, "--json");
  expect([code, err]).toEqual([1, expect.stringMatching(/^Plant 5 cannot be stored: .*no_weeds/)]);
  expect(JSON.parse(out)).toMatchObject({ created: 3, failed: 1, compared: 4 });
  expect(await server.stored(url)).toMatchObject([{ id: 1n }, { id: 2n }, { id: 6n }]);
});

test("needs two different databases", async () => {
  for (const args of [[], ["--from", "a.db"], ["--from", "a.db", "--to", "a.db"]])
    expect((await runInProcess(["copy", ...args])).code).toBe(2);
  expect((await runInProcess(["copy", "--from", "/nowhere/a.db", "--to", "b.db"])).err).toContain(
    "There is no data file at /nowhere/a.db. Check --from.",
  );
});
