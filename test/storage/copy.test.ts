// copy: from a data file to PostgreSQL and back, with every plant and token.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
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

describe("a copy from a file to PostgreSQL, and from there to another file,", () => {
  const greatest = 2n ** 63n - 1n;
  // More than one batch, with the least and the greatest id.
  const ids = [...Array.from({ length: 1100 }, (_, index) => greatest - BigInt(index)), -(2n ** 63n)];
  const file = join(folder.path, "exact.db");
  const back = join(folder.path, "back.db");
  let url: string;
  let secret: string;
  let there: Awaited<ReturnType<typeof copy>>;
  beforeAll(async () => {
    url = await server.newDatabase();
    secret = (await token(file, "create", "--name", "courier")).out.trim();
    await storePlants(file, ids);
    there = await copy(file, url);
    await copy(url, back);
  });

  test("says what it has copied and compared", () => {
    expect(there.code).toBe(0);
    expect(there.err).toBe(
      "1,101 plants copied, 0 already stored, 1 token copied; 1,101 compared, all identical.\n",
    );
  });

  test("has every plant in PostgreSQL exactly", async () => {
    expect(await server.stored(url)).toEqual(storedPlants(file));
  });

  test("has every plant in the other file exactly", () => {
    expect(storedPlants(back)).toEqual(storedPlants(file));
  });

  test("has the tokens, so that a client can replay its request", async () => {
    await using again = await startTestService({ database: back });
    const body = `{"id":${greatest},"name":"${nameOf(greatest)}","tag":"t"}`;
    const replay = await post(again.url, body, bearer(secret));
    expect(replay.status).toBe(200);
    expect(replay.headers.get("idempotent-replayed")).toBe("true");
  });
});

test("a copy that is run again stores only what is new", async () => {
  const file = join(folder.path, "resumed.db");
  const url = await server.newDatabase();
  await storePlants(file, [1n, 2n, 3n, 4n, 5n]);
  expect((await copy(file, url)).code).toBe(0);
  await storePlants(file, [6n]);
  const { code, err } = await copy(file, url);
  expect(code).toBe(0);
  expect(err).toStartWith("1 plant copied, 5 already stored");
});

describe("a plant that differs in the other store", () => {
  const problem = "the plant with the id 7 has another name and time there";

  async function copyDiffering(...flags: readonly string[]) {
    const file = folder.newPath();
    const url = await server.newDatabase();
    await storePlants(file, [6n, 7n]);
    await storePlants(url, [7n], () => "another", 2);
    return copy(file, url, ...flags);
  }

  test("fails the copy", async () => {
    const { code, err, out } = await copyDiffering();
    expect(code).toBe(1);
    expect(err).toStartWith(`${problem}\n`);
    expect(err).toContain(
      "1 plant copied, 0 already stored, 1 stored with other content, 0 tokens copied; 2 compared",
    );
    expect(out).toBe("");
  });

  test("is reported only as JSON with --json", async () => {
    const { code, err, out } = await copyDiffering("--json");
    expect(code).toBe(1);
    const counts = { created: 1, replayed: 0, conflicts: 1, failed: 0, compared: 2 };
    expect(JSON.parse(out)).toMatchObject({ ...counts, problems: [problem] });
    expect(err).toBe("");
  });
});

describe("a copied token", () => {
  const stateAfterCopies = async (change: (from: string, to: string) => Promise<unknown>) => {
    const from = folder.newPath();
    const to = await server.newDatabase();
    await token(from, "create", "--name", "robot");
    await copy(from, to);
    await change(from, to);
    const { code, out } = await copy(from, to, "--json");
    expect(code).toBe(0);
    const listed: { state: string }[] = JSON.parse((await token(to, "list", "--json")).out);
    const states = listed.map(({ state }) => state).sort();
    const again = JSON.parse((await copy(from, to, "--json")).out);
    return { states, copied: JSON.parse(out).tokens, copiedAgain: again.tokens };
  };

  test("stays revoked if it was revoked in the other store", async () => {
    const { states, copiedAgain } = await stateAfterCopies((_, to) => token(to, "revoke", "robot"));
    expect(states).toEqual(["revoked"]);
    expect(copiedAgain).toBe(0);
  });

  test("is revoked if it was revoked in the first store since", async () => {
    const { states, copied, copiedAgain } = await stateAfterCopies((from) => token(from, "revoke", "robot"));
    expect(states).toEqual(["revoked"]);
    expect(copied).toBe(1);
    expect(copiedAgain).toBe(0);
  });

  test("is beside the one that replaces it for the overlap of a rotation", async () => {
    const { states, copiedAgain } = await stateAfterCopies((from) => token(from, "rotate", "robot"));
    expect(states).toEqual(["live", "live"]);
    expect(copiedAgain).toBe(0);
  });

  test("expires if it was rotated in the first store since", async () => {
    const { states, copied, copiedAgain } = await stateAfterCopies((from) =>
      token(from, "rotate", "robot", "--overlap", "0s"),
    );
    expect(states).toEqual(["expired", "live"]);
    expect(copied).toBe(2);
    expect(copiedAgain).toBe(0);
  });
});

describe("a plant that the database rejects", () => {
  /** Copies four plants to a database that rejects the one with the id 5. */
  async function copyRejected() {
    const file = folder.newPath();
    const url = await server.newDatabase();
    await storePlants(file, [1n, 2n, 5n, 6n], (id) => (id === 5n ? "weed" : "fern"));
    await storePlants(url, []);
    await server.run("ALTER TABLE plants ADD CONSTRAINT no_weeds CHECK (name <> 'weed')", url);
    return { url, ...(await copy(file, url, "--json")) };
  }

  test("fails the copy with its id", async () => {
    const { code, err } = await copyRejected();
    expect(code).toBe(1);
    expect(err).toMatch(/^Plant 5 cannot be stored: .*no_weeds/);
  });

  test("does not keep the others from being copied", async () => {
    const { url, out } = await copyRejected();
    expect(JSON.parse(out)).toMatchObject({ created: 3, failed: 1, compared: 3 });
    expect(await server.stored(url)).toMatchObject([{ id: 1n }, { id: 2n }, { id: 6n }]);
  });
});

test.each([
  ["without arguments", []],
  ["without --to", ["--from", "a.db"]],
  ["to the database itself", ["--from", "a.db", "--to", "a.db"]],
])("a copy %s is a misuse", async (_, args) => {
  const { code } = await runInProcess(["copy", ...args]);
  expect(code).toBe(2);
});

test("copy names a data file that does not exist", async () => {
  const { err } = await copy("/nowhere/a.db", "b.db");
  expect(err).toContain("There is no data file at /nowhere/a.db. Check --from.");
});
