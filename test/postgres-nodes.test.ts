import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { creationEntry, mintToken } from "../src/access/tokens.ts";
import { openStore } from "../src/storage/open-store.ts";
import { plantStore, serve } from "./command.ts";
import { accessToken, eventually, post, startTestService, temporaryFolder } from "./harness.ts";
import { type PostgresServer, startPostgres } from "./postgres.ts";
import { runInProcess } from "./terminal.ts";

const password = "pass@word/with:signs";
let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres({
    tls: true,
    access: [
      "hostssl all gardener 127.0.0.1/32 scram-sha-256",
      "host all gardener 127.0.0.1/32 reject",
      "hostssl all all 127.0.0.1/32 trust",
    ],
  });
  await server.run(`CREATE ROLE gardener LOGIN SUPERUSER PASSWORD '${password}'`);
});
afterAll(() => server[Symbol.asyncDispose]());

const open = (database: string) =>
  openStore({ database, databasePassword: undefined, allowUnsafeDatabase: false });

describe("several nodes on one database", () => {
  test("that start together on an empty one create the tables once", async () => {
    for (let round = 0; round < 3; round++) {
      const database = await server.newDatabase();
      const stores = await Promise.all(Array.from({ length: 8 }, () => open(database)));
      await Promise.all(stores.map((store) => store[Symbol.asyncDispose]()));
      expect(await server.run("SELECT one, version FROM plant_store_schema", database)).toEqual([
        { one: 1, version: 6 },
      ]);
    }
  });

  test("store exactly one of the plants racing for an id, the one that was reported as created", async () => {
    const database = await server.newDatabase();
    await using one = await startTestService({}, database);
    await using other = await startTestService({}, database);
    const ids = Array.from({ length: 150 }, (_, id) => id);
    // In opposite orders, so that batches conflict from both ends.
    const [ours, theirs] = await Promise.all([
      Promise.all(ids.map((id) => post(one.url, `{"id":${id},"name":"one"}`))),
      Promise.all(ids.toReversed().map((id) => post(other.url, `{"id":${id},"name":"other"}`))),
    ]);
    const stored = new Map((await server.stored(database)).map(({ id, name }) => [Number(id), name]));
    for (const id of ids) {
      const statuses = [ours[id]?.status, theirs[ids.length - 1 - id]?.status];
      expect(statuses).toEqual(stored.get(id) === "one" ? [200, 400] : [400, 200]);
    }
  }, 20_000);

  test("create a plant sent to both once and replay it once", async () => {
    const database = await server.newDatabase();
    await using one = await startTestService({}, database);
    await using other = await startTestService({}, database);
    const ids = Array.from({ length: 150 }, (_, id) => id);
    const responses = await Promise.all(
      [one, other].flatMap(({ url }) => ids.map((id) => post(url, `{"id":${id},"name":"same"}`))),
    );
    expect(responses.every(({ status }) => status === 200)).toBe(true);
    expect(responses.filter(({ headers }) => headers.has("idempotent-replayed"))).toHaveLength(ids.length);
  }, 20_000);

  test("that all find no token add one of theirs: the others wait for it", async () => {
    const database = await server.newDatabase();
    const stores = await Promise.all(Array.from({ length: 3 }, () => open(database)));
    await Promise.all(stores.map(({ tokens }) => tokens.all()));
    const isLocked = async (where: string, count: number) =>
      (await server.run(`SELECT 1 FROM pg_stat_activity WHERE ${where}`)).length === count;
    // While another session holds this lock, each of them has looked for tokens and none has committed.
    const lock = "BEGIN; LOCK TABLE audit_trail IN EXCLUSIVE MODE; SELECT pg_sleep(60)";
    const locked = server.run(lock, database).catch(() => {});
    await eventually(() => isLocked("wait_event = 'PgSleep'", 1));
    const add = async ({ tokens }: (typeof stores)[0]) => {
      const { token } = mintToken(
        {
          name: "first",
          scopes: ["metrics"],
          expiresAtMs: undefined,
          createdBy: "test",
          rateLimit: undefined,
        },
        Date.now(),
      );
      await tokens.addFirst(token, creationEntry(token, { actor: "test", address: undefined }));
    };
    const adding = Promise.allSettled(stores.map(add));
    await eventually(() => isLocked("wait_event_type = 'Lock' AND query LIKE '%first-token%'", 3));
    await server.run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'PgSleep'");
    await Promise.all([locked, adding]);
    await Promise.all(stores.map(add));
    expect(await server.run("SELECT name FROM tokens", database)).toEqual([{ name: "first" }]);
    await Promise.all(stores.map((store) => store[Symbol.asyncDispose]()));
  }, 20_000);

  test("see each other's tokens within a second", async () => {
    const database = ["--database", await server.newDatabase()];
    await using service = await serve(database, { environment: { PLANT_STORE_ACCESS_TOKEN: accessToken } });
    const secret = (await runInProcess(["token", "create", "--name", "x", ...database])).out.trim();
    await Bun.sleep(1000);
    const headers = { Authorization: `Bearer ${secret}` };
    expect((await post(service.url, '{"id":1,"name":"a"}', headers)).status).toBe(200);
    await runInProcess(["token", "revoke", "x", ...database]);
    await Bun.sleep(1000);
    expect((await post(service.url, '{"id":1,"name":"a"}', headers)).status).toBe(401);
  }, 20_000);
});

describe("a database with several hosts", () => {
  test("uses the one that accepts writes", async () => {
    const database = await server.newDatabase();
    const withDeadHost = database.replace("127.0.0.1", "127.0.0.1:1,127.0.0.1");
    await using running = await startTestService({}, withDeadHost);
    expect((await post(running.url, '{"id":1,"name":"a"}')).status).toBe(200);
  });
});

describe("connecting", () => {
  const authority = join(import.meta.dir, "certificates/ca.pem");
  const address = async (host: string, login: string, options: string) => {
    const name = new URL(await server.newDatabase()).pathname;
    return `postgres://${login}@${host}:${server.port}${name}?${options}`;
  };
  const login = `gardener:${encodeURIComponent(password)}`;

  const accepted: [string, string, string][] = [
    ["TLS with anyone", "127.0.0.1", "sslmode=require"],
    [
      "TLS with a known authority, whatever the name",
      "127.0.0.1",
      `sslmode=verify-ca&sslrootcert=${authority}`,
    ],
    [
      "TLS with a known authority and the right name",
      "localhost",
      `sslmode=verify-full&sslrootcert=${authority}`,
    ],
  ];
  for (const [what, host, options] of accepted) {
    test(`by password and ${what}`, async () => {
      await using store = await open(await address(host, login, options));
      await store.plants.probe();
      const sessions =
        "SELECT ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE usename = 'gardener'";
      expect(await server.run(sessions)).toContainEqual({ ssl: true });
    });
  }

  // Exit code 2 for an invalid setting, 1 for a failure.
  const refused: [number, string, string, string, string, string][] = [
    [
      2,
      "a wrong password",
      "127.0.0.1",
      "gardener:not-it-at-all",
      "sslmode=require",
      "password authentication failed",
    ],
    [2, "no TLS where the server wants it", "127.0.0.1", login, "", "rejects connection"],
    [2, "an unknown authority", "localhost", login, "sslmode=verify-full", "set sslrootcert"],
    [2, "a mode that TLS can be turned off with", "localhost", login, "sslmode=prefer", "anyone on the way"],
    [2, "another name", "127.0.0.1", login, `sslmode=verify-full&sslrootcert=${authority}`, "name the host"],
    [2, "a mode that is none", "127.0.0.1", login, "sslmode=maybe", "sslmode=maybe"],
    [2, "an option that is none", "127.0.0.1", login, "sslmod=require", "the option sslmod,"],
    [
      2,
      "options that the server refuses",
      "127.0.0.1",
      login,
      "sslmode=require&options=-c%20no_such=1",
      "no_such",
    ],
    [
      2,
      "a standby requested",
      "127.0.0.1",
      login,
      "target_session_attrs=standby",
      "target_session_attrs=standby",
    ],
    [
      2,
      "channel binding required without TLS",
      "127.0.0.1",
      "postgres",
      "channel_binding=require",
      "channel_binding",
    ],
    [2, "a missing root certificate", "127.0.0.1", login, "sslmode=require&sslrootcert=no.pem", "no.pem"],
  ];
  for (const [exitCode, what, host, by, options, says] of refused) {
    test(`with ${what} is refused in one sentence, without the password`, async () => {
      const args = ["serve", "--listen", "127.0.0.1:0", "--database", await address(host, by, options)];
      const { code, err } = await runInProcess(args);
      expect([code, err]).toEqual([exitCode, expect.stringContaining(says)]);
      expect(err.trim().split("\n")).toHaveLength(1);
      expect(err).not.toMatch(/pass@word|pass%40|not-it-at-all/);
    }, 20_000);
  }

  const managed: [string, string, string][] = [
    [
      "channel_binding=require",
      "SELECT 1 AS found FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE ssl",
      "",
    ],
    ["channel_binding=disable", "SELECT 1 AS found", ""],
    [
      "application_name=my%20garden",
      "SELECT 1 AS found FROM pg_stat_activity WHERE application_name = 'my garden'",
      "",
    ],
    ["connect_timeout=10", "SELECT 1 AS found", ""],
    ["options=-c%20search_path%3Dgarden", "SELECT 1 AS found FROM garden.plants LIMIT 1", ""],
    ["target_session_attrs=any", "SELECT 1 AS found", ""],
    ["target_session_attrs=prefer-standby", "SELECT 1 AS found", "target_session_attrs=prefer-standby"],
    ["gssencmode=disable&keepalives_idle=30", "SELECT 1 AS found", "keepalives_idle"],
  ];
  for (const [options, finds, warned] of managed) {
    test(`with ${options}, as in the URLs of managed providers`, async () => {
      const database = await address("127.0.0.1", login, `sslmode=require&${options}`);
      const plain = database.replace(/gardener:[^@]+@/, "postgres@").replace(/\?.*/, "");
      await server.run("CREATE SCHEMA garden", plain);
      await using running = await startTestService({}, database);
      expect((await post(running.url, '{"id":1,"name":"a"}')).status).toBe(200);
      expect(await server.run(finds, plain)).toContainEqual({ found: 1 });
      const warnings = running.logged.filter((line) => line.includes('"level":"warn"')).join("");
      expect(warned === "" ? warnings === "" : warnings.includes(warned)).toBe(true);
    }, 20_000);
  }

  test("with a password from the environment, from a file, and from PGPASSWORD and PGPASSFILE", async () => {
    using folder = temporaryFolder();
    const file = join(folder.path, "password");
    writeFileSync(file, `${password}\n`);
    const passFile = join(folder.path, "pgpass");
    writeFileSync(passFile, `*:*:*:gardener:${password.replace(":", "\\:")}\n`);
    chmodSync(passFile, 0o600);
    const sources = [
      { PLANT_STORE_DATABASE_PASSWORD: password },
      { PLANT_STORE_DATABASE_PASSWORD_FILE: file },
      { PGPASSWORD: password },
      { PGPASSFILE: passFile },
    ];
    const database = await address("127.0.0.1", "gardener", "sslmode=require");
    for (const environment of sources) {
      const listed = await plantStore(["token", "list", "--database", database], { environment });
      // It is connected, and finds that no service has run on this database.
      expect(listed).toEqual({ code: 1, out: "", err: expect.stringContaining("no plant-store tables yet") });
      expect(listed.err.trim().split("\n")).toHaveLength(1);
    }
  });

  test("is shown in the greeting and by config, without the password", async () => {
    const database = await address("127.0.0.1", login, "sslmode=require");
    await using service = await serve(["--database", database]);
    const configured = await runInProcess(["config", "--database", database]);
    for (const text of [service.out(), configured.out])
      expect(text).toContain("postgres://gardener:***@127.0.0.1");
    for (const text of [service.out(), service.err(), configured.out, configured.err])
      expect(text).not.toMatch(/pass@word|pass%40/);
    expect(service.err()).toContain("every user of this machine can read the password in --database");
  });

  test("to a database with an unrelated table plants fails, and changes nothing", async () => {
    const database = await server.newDatabase();
    await server.run("CREATE TABLE plants (leaf text)", database);
    const { code, err } = await runInProcess(["serve", "--listen", "127.0.0.1:0", "--database", database]);
    expect([code, err]).toEqual([1, expect.stringContaining('relation "plants" already exists')]);
    expect(await server.run("SELECT * FROM plants", database)).toEqual([]);
  });

  test("to a database of a newer version fails", async () => {
    const database = await server.newDatabase();
    await (await open(database))[Symbol.asyncDispose]();
    await server.run("UPDATE plant_store_schema SET version = 999", database);
    const { code, err } = await runInProcess(["serve", "--listen", "127.0.0.1:0", "--database", database]);
    expect([code, err]).toEqual([1, expect.stringContaining("newer plant-store")]);
  });
});
