// copy: from a data file to PostgreSQL and back, with every plant and token.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { type DatabaseServer, startServer } from "../support/engines.ts";
import { openStoreAt } from "../support/open-engine-store.ts";
import { post } from "../support/post-plants.ts";
import { storedPlants, testPlant } from "../support/stored-plants.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { runInProcess } from "../support/terminal.ts";
import { startTestService } from "../support/test-service.ts";
import { bearer } from "../support/tokens.ts";

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

async function storePlants(database: string, ids: readonly bigint[], name = nameOf, atMs = 1) {
  await using store = await openStoreAt(database);
  const plants = ids.map((id) => testPlant(id, name(id), { tag: tagOf(id) }));
  await store.plants.create(plants, atMs);
}

test("a copy from a file to PostgreSQL, and from there to another file, has every plant and token exactly", async () => {
  const greatest = 2n ** 63n - 1n;
  // More than one batch, with the least and the greatest id.
  const ids = [...Array.from({ length: 1100 }, (_, index) => greatest - BigInt(index)), -(2n ** 63n)];
  const file = folder.newPath();
  const back = folder.newPath();
  const url = await server.newDatabase();
  const secret = (await token(file, "create", "--name", "courier")).out.trim();
  await storePlants(file, ids);

  const there = await copy(file, url);
  expect(there.code).toBe(0);
  expect(there.err).toBe(
    "1,101 plants copied, 0 already stored, 1 token copied; 1,101 compared, all identical.\n",
  );
  expect(await server.stored(url)).toEqual(storedPlants(file));

  await copy(url, back);
  expect(storedPlants(back)).toEqual(storedPlants(file));
  // With the token, a client can replay its request.
  await using again = await startTestService({ database: back });
  const body = `{"id":${greatest},"name":"${nameOf(greatest)}","tag":"t"}`;
  const replay = await post(again.url, body, bearer(secret));
  expect(replay.status).toBe(200);
  expect(replay.headers.get("idempotent-replayed")).toBe("true");
});

test("a copy that is run again stores only what is new", async () => {
  const file = folder.newPath();
  const url = await server.newDatabase();
  await storePlants(file, [1n, 2n, 3n, 4n, 5n]);
  expect((await copy(file, url)).code).toBe(0);
  await storePlants(file, [6n]);
  const { code, err } = await copy(file, url);
  expect(code).toBe(0);
  expect(err).toStartWith("1 plant copied, 5 already stored");
});

test("a plant that differs in the other store fails the copy, and is reported only as JSON with --json", async () => {
  const file = folder.newPath();
  const url = await server.newDatabase();
  const differing = Array.from({ length: 21 }, (_, index) => 7n + BigInt(index));
  await storePlants(file, [6n, ...differing]);
  await storePlants(url, differing, () => "another", 2);
  const problem = "id 7 differs in the target: name, created_at";

  const text = await copy(file, url);
  expect(text.code).toBe(1);
  const sum = "1 plant copied, 0 already stored, 21 stored with other content, 0 tokens copied; 22 compared";
  expect(text.err).toMatch(
    new RegExp(`^${sum}, not .* stop the service first.*\\n${problem}\\n[^]*\\nand 1 more\\n`),
  );
  expect(text.out).toBe("");

  const json = await copy(file, url, "--json");
  expect(json.code).toBe(1);
  const counts = { created: 0, replayed: 1, conflicts: 21, failed: 0, compared: 22, differing: 21 };
  expect(JSON.parse(json.out)).toMatchObject(counts);
  expect(JSON.parse(json.out).problems).toHaveLength(20);
  expect(JSON.parse(json.out).problems[0]).toBe(problem);
  expect(json.err).toBe("");
});

test("copied tokens end where they were ended in either store, and are copied again only if they changed", async () => {
  const from = folder.newPath();
  const to = await server.newDatabase();
  const names = ["revoked there", "revoked here", "rotated", "rotated at once"] as const;
  for (const name of names) await token(from, "create", "--name", name);
  await copy(from, to);
  await token(to, "revoke", "revoked there");
  await token(from, "revoke", "revoked here");
  // The old one is valid beside the new one for the overlap.
  await token(from, "rotate", "rotated");
  await token(from, "rotate", "rotated at once", "--overlap", "0s");

  const copied = await copy(from, to, "--json");
  expect(copied.code).toBe(0);
  expect(JSON.parse(copied.out).tokens).toBe(5);
  const listed: { name: string; state: string }[] = JSON.parse((await token(to, "list", "--json")).out);
  const statesOf = (name: string) =>
    listed
      .filter((each) => each.name === name)
      .map(({ state }) => state)
      .sort();
  expect(names.map(statesOf)).toEqual([["revoked"], ["revoked"], ["live", "live"], ["expired", "live"]]);
  expect(JSON.parse((await copy(from, to, "--json")).out).tokens).toBe(0);
});

test("a plant that the database rejects fails the copy with its id, and the others are copied", async () => {
  const file = folder.newPath();
  const url = await server.newDatabase();
  await storePlants(file, [1n, 2n, 5n, 6n], (id) => (id === 5n ? "weed" : "fern"));
  await storePlants(url, []);
  await server.run("ALTER TABLE plants ADD CONSTRAINT no_weeds CHECK (name <> 'weed')", url);
  const { code, err, out } = await copy(file, url, "--json");
  expect(code).toBe(1);
  expect(err).toMatch(/^Plant 5 cannot be stored: .*no_weeds/);
  expect(JSON.parse(out)).toMatchObject({ created: 3, failed: 1, compared: 3 });
  expect(await server.stored(url)).toMatchObject([{ id: 1n }, { id: 2n }, { id: 6n }]);
});

test("a copy without two databases is a misuse", async () => {
  const misuses = [[], ["--from", "a.db"], ["--from", "a.db", "--to", "a.db"]];
  for (const args of misuses) expect((await runInProcess(["copy", ...args])).code).toBe(2);
});

test("copy names a data file that does not exist", async () => {
  const { err } = await copy("/nowhere/a.db", "b.db");
  expect(err).toContain("There is no data file at /nowhere/a.db. Check --from.");
});

test("copy --without makes a new store that lacks those plants, and says so first in its audit trail", async () => {
  const file = folder.newPath();
  await storePlants(file, [1n, 2n, 3n]);
  await token(file, "create", "--name", "kept");
  for (const to of [folder.newPath(), await server.newDatabase()]) {
    const { code, err } = await copy(file, to, "--without", "2", "--without", "3");
    expect(code).toBe(0);
    expect(err).toContain("1 plant copied, 0 already stored, 1 token copied; 1 compared, all identical.");
    const { out } = await runInProcess(["audit", "--json", "--database", to]);
    expect(JSON.parse(out).at(-1)).toMatchObject({ action: "store.copied", detail: "without 2 plants" });
    const listed = JSON.parse((await runInProcess(["list", "--json", "--database", to])).out);
    expect(listed).toMatchObject([{ id: "1", createdAt: "1970-01-01T00:00:00.001Z", createdBy: "test" }]);

    const again = await copy(file, to, "--without", "2");
    expect(again.code).toBe(1);
    expect(again.err).toContain("has plants already; with --without, name a new store.");
  }
});

test("copy --without refuses an id that the source does not have before it writes anything", async () => {
  const file = folder.newPath();
  const to = folder.newPath();
  await storePlants(file, [1n]);
  const { code, err } = await copy(file, to, "--without", "1", "--without", "7");
  expect(code).toBe(1);
  expect(err).toBe("plant-store: No plant has the id 7. Check --without.\n");
  expect(existsSync(to)).toBe(false);
});

test("a copy into a database that has plants says what followers miss", async () => {
  const file = folder.newPath();
  const url = await server.newDatabase();
  await storePlants(file, [1n]);
  await storePlants(url, [2n]);
  expect((await copy(file, url)).err).toContain("Followers of the target");
});
