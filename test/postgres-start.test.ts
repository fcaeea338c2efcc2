import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Finished, type Serving, serve } from "./command.ts";
import { accessToken, eventually, post, startTestService, temporaryFolder } from "./harness.ts";
import { startLossyProxy } from "./lossy-proxy.ts";
import { type PostgresServer, startPostgres } from "./postgres.ts";
import { startSharingPooler } from "./sharing-pooler.ts";
import { runInProcess } from "./terminal.ts";

let server: PostgresServer;
// Started first and awaited last, since it retries for ten seconds.
let toNowhere: Promise<Finished>;
beforeAll(async () => {
  const environment = { PLANT_STORE_DATABASE: "postgres://me:secret@127.0.0.1:1/plants" };
  toNowhere = runInProcess(["token", "list"], { environment });
  server = await startPostgres({ access: ["host all gardener 127.0.0.1/32 scram-sha-256"] });
  await server.run("CREATE ROLE gardener LOGIN SUPERUSER PASSWORD 'right'; CREATE ROLE helper LOGIN");
});
afterAll(() => server[Symbol.asyncDispose]());

const openWithinMs = 10_000;
const status = async (url: string, path: string) => (await fetch(`${url}${path}`)).status;
const bearer = (secret: string) => ({ Authorization: `Bearer ${secret}` });

async function expectUnavailable(service: Serving, headers: Record<string, string>): Promise<void> {
  const response = await post(service.url, '{"id":1,"name":"a"}', headers);
  expect([response.status, await response.json()]).toMatchObject([503, { error: 50302 }]);
  expect(response.headers.get("retry-after")).toBe("1");
}

/** Expects the start to fail with one sentence. */
async function expectRefused(args: readonly string[], code: number, says: string): Promise<void> {
  const refused = await runInProcess(["serve", "--listen", "127.0.0.1:0", ...args]);
  expect([refused.code, refused.err]).toEqual([code, expect.stringContaining(says)]);
  expect(refused.err.trim().split("\n")).toHaveLength(1);
}

describe("a database that is unreachable at the start", () => {
  test("is retried: the service listens, unready, and creates the first token once it connects", async () => {
    using folder = temporaryFolder();
    const file = join(folder.path, "first-token");
    const database = await server.newDatabase();
    await server.stop("fast");
    await using service = await serve(["--database", database, "--token-folder", folder.path]);
    expect(service.out()).toContain("The database is not available yet");
    expect(existsSync(file)).toBe(false);
    expect([await status(service.url, "/livez"), await status(service.url, "/readyz")]).toEqual([200, 503]);
    // It is not known yet whether such a token is stored.
    await expectUnavailable(service, bearer("some-token-of-an-earlier-run"));
    expect((await post(service.url, "{}", { Authorization: "" })).status).toBe(401);
    await server.start();
    await eventually(() => service.out().includes(file), openWithinMs);
    const secret = readFileSync(file, "utf8").trim();
    expect((await post(service.url, '{"id":1,"name":"a"}', bearer(secret))).status).toBe(200);
    expect((await post(service.url, "{}", bearer("some-token-of-an-earlier-run"))).status).toBe(401);
    await eventually(async () => (await status(service.url, "/readyz")) === 200);
    expect(service.err().match(/database unavailable, retrying/g)?.length).toBeLessThan(5);
  }, 40_000);

  test("is used once it is reachable, and its tokens are known then", async () => {
    const database = ["--database", await server.newDatabase()];
    const secret = (await runInProcess(["token", "create", "--name", "x", ...database])).out.trim();
    await server.stop("fast");
    await using service = await serve(database);
    await expectUnavailable(service, bearer(secret));
    await server.start();
    await eventually(() => service.out().includes("The database is available now"), openWithinMs);
    expect(service.out()).not.toContain("first token");
    for (let id = 0; id < 20; id++)
      expect((await post(service.url, `{"id":${id},"name":"a"}`, bearer(secret))).status).toBe(200);
  }, 40_000);

  test("stops the service with one sentence if it turns out to be unusable", async () => {
    const address = new URL(await server.newDatabase());
    address.username = "gardener";
    address.password = "wrong-and-secret";
    await server.stop("fast");
    const service = await serve(["--database", address.href]);
    await server.start();
    const { code, err } = await service.ended();
    expect(code).toBe(2);
    expect(err.trim().split("\n").at(-1)).toMatch(/^plant-store: The database cannot be used: password auth/);
    expect(err).not.toContain("wrong-and-secret");
  }, 40_000);
});

describe("the first token", () => {
  for (const away of [false, true]) {
    const when = away ? "was away at the start" : "was there at the start";
    test(`is delivered even if the responses to its INSERT are lost and the database ${when}`, async () => {
      using folder = temporaryFolder();
      const file = join(folder.path, "first-token");
      const database = await server.newDatabase();
      using proxy = await startLossyProxy(server.port, "INSERT INTO tokens");
      if (away) await server.stop("fast");
      const throughProxy = database.replace(`:${server.port}/`, `:${proxy.port}/`);
      await using service = await serve(["--database", throughProxy, "--token-folder", folder.path]);
      expect(service.out()).toContain("The database is not available yet");
      if (away) await server.start();
      await eventually(() => service.out().includes(file), openWithinMs);
      expect(proxy.lost()).toBeGreaterThan(0);
      const secret = readFileSync(file, "utf8").trim();
      expect((await post(service.url, '{"id":1,"name":"a"}', bearer(secret))).status).toBe(200);
      expect(await server.run("SELECT name FROM tokens", database)).toEqual([{ name: "first" }]);
      expect(await server.run("SELECT action FROM audit_trail", database)).toEqual([
        { action: "token.created" },
      ]);
    }, 40_000);
  }

  test("is created by one of two nodes that start together on an empty database", async () => {
    const database = await server.newDatabase();
    using one = temporaryFolder();
    using other = temporaryFolder();
    const folders = [one, other].map(({ path }) => path);
    const nodes = await Promise.all(
      folders.map((folder) => serve(["--database", database, "--token-folder", folder])),
    );
    // A service may listen before its database is open. Whoever is second removes its file again.
    for (const { url } of nodes) await eventually(async () => (await status(url, "/readyz")) === 200);
    const created = () => folders.filter((folder) => existsSync(join(folder, "first-token")));
    await eventually(() => created().length === 1);
    await eventually(() => nodes.some((node) => node.out().includes("first token")));
    expect(nodes.filter((node) => node.out().includes("first token"))).toHaveLength(1);
    const secret = readFileSync(join(created()[0] ?? "", "first-token"), "utf8").trim();
    expect(await server.run("SELECT name FROM tokens", database)).toEqual([{ name: "first" }]);
    for (const { url } of nodes)
      await eventually(async () => (await post(url, '{"id":1,"name":"a"}', bearer(secret))).status === 200);
    await Promise.all(nodes.map((node) => node[Symbol.asyncDispose]()));
  }, 40_000);

  test("is not created if it could not be saved, and the service says how to create one", async () => {
    const database = await server.newDatabase();
    await using service = await serve(["--database", database]);
    // It may listen before its database is open.
    const message = "There is no token yet, and no --token-folder to write one to.";
    await eventually(() => [service.out(), service.err()].every((text) => text.includes(message)));
    expect(service.out()).toContain("plant-store token create --name NAME");
    expect(await server.run("SELECT name FROM tokens", database)).toEqual([]);
  });
});

test("losing the database just after opening it does not stop the service", async () => {
  const database = await server.newDatabase();
  const secret = (await runInProcess(["token", "create", "--name", "x", "--database", database])).out.trim();
  using proxy = await startLossyProxy(server.port, "FROM tokens");
  await using running = await startTestService({}, database.replace(`:${server.port}/`, `:${proxy.port}/`));
  expect(running.logged.join("")).toContain("database unavailable, retrying");
  expect((await post(running.url, '{"id":1,"name":"a"}', bearer(secret))).status).toBe(503);
  proxy.repair();
  await running.service.opened;
  expect((await post(running.url, '{"id":1,"name":"a"}', bearer(secret))).status).toBe(200);
}, 30_000);

describe("a password", () => {
  test("that is wrong in its file is read again until it is right", async () => {
    using folder = temporaryFolder();
    const file = join(folder.path, "password");
    writeFileSync(file, "wrong");
    const address = new URL(await server.newDatabase());
    address.username = "gardener";
    const environment = {
      PLANT_STORE_ACCESS_TOKEN: accessToken,
      PLANT_STORE_DATABASE_PASSWORD_FILE: file,
    };
    await using service = await serve(["--database", address.href], { environment });
    await expectUnavailable(service, {});
    writeFileSync(file, "right\n");
    await eventually(async () => (await status(service.url, "/readyz")) === 200, openWithinMs);
    expect((await post(service.url, '{"id":1,"name":"a"}')).status).toBe(200);
  }, 30_000);

  test("that is wrong in the URL or the environment is refused immediately", async () => {
    const address = new URL(await server.newDatabase());
    address.username = "gardener";
    const args = ["--listen", "127.0.0.1:0", "--database", address.href];
    const environment = { PLANT_STORE_DATABASE_PASSWORD: "wrong" };
    expect((await runInProcess(args, { environment })).code).toBe(2);
    address.password = "wrong";
    await expectRefused(["--database", address.href], 2, "password authentication failed");
  }, 20_000);
});

describe("refused at the start", () => {
  test("is an encoding that cannot represent every text", async () => {
    const options = "ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0";
    await server.run(`CREATE DATABASE latin ${options}`);
    const database = `postgres://postgres@127.0.0.1:${server.port}/latin`;
    await expectRefused(["--database", database], 2, "has the encoding LATIN1");
  });

  test("is a role without a privilege, which is named with its table", async () => {
    const database = await server.newDatabase();
    const asHelper = database.replace("postgres@", "helper@");
    await expectRefused(["--database", asHelper], 2, "permission denied for schema public");
    expect((await runInProcess(["token", "create", "--name", "x", "--database", database])).code).toBe(0);
    await server.run(
      `GRANT SELECT ON plant_store_schema TO helper; GRANT SELECT, INSERT, UPDATE ON plants TO helper;
       GRANT SELECT, INSERT ON tokens TO helper; GRANT ALL ON plant_store_nodes, audit_trail TO helper`,
      database,
    );
    await expectRefused(["--database", asHelper], 2, "role helper lacks UPDATE on the table tokens");
    await server.run("GRANT UPDATE ON tokens TO helper", database);
    await using running = await startTestService({}, asHelper);
    expect((await post(running.url, '{"id":1,"name":"a"}')).status).toBe(200);
    expect((await post(running.url, '{"id":1,"name":"a"}')).status).toBe(200);
  }, 20_000);

  test("is a server without TLS, if the URL asks for it", async () => {
    const database = `${await server.newDatabase()}?sslmode=require`;
    await expectRefused(
      ["--database", database],
      2,
      "does not support SSL connections; turn on ssl there, or",
    );
  });

  test("is an invalid port", async () => {
    await expectRefused(
      ["--database", "postgres://u:p@127.0.0.1:99999/x"],
      2,
      "has a port that is not between 1",
    );
  });

  test("is a URL whose options make sessions read-only", async () => {
    const database = `${await server.newDatabase()}?options=-c%20default_transaction_read_only%3Don`;
    await expectRefused(["--database", database], 2, "options set default_transaction_read_only=on");
  });

  test("is a pooler that shares sessions", async () => {
    using pooler = await startSharingPooler(server.port);
    const database = (await server.newDatabase()).replace(`:${server.port}`, `:${pooler.port}`);
    await expectRefused(["--database", database], 2, "a pooler shares the database's sessions");
  }, 20_000);
});

test("a command fails after several attempts if the database is unreachable", async () => {
  const { code, err } = await toNowhere;
  expect([code, err]).toEqual([1, expect.stringContaining("The database cannot be used")]);
  expect(err.trim().split("\n")).toHaveLength(1);
  expect(err).not.toContain("secret");
}, 30_000);
