// What needs a server of its own: its TLS, its passwords, its settings.

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import { TLSSocket } from "node:tls";
import { openStore } from "../../src/storage/open-store.ts";
import { Server } from "../../src/storage/postgres/server.ts";
import { Problem } from "../../src/system/problem.ts";
import { expectOneLine } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";
import { lacks } from "../support/lacks.ts";
import { postPlant, statusOf } from "../support/post-plants.ts";
import { type PostgresServer, startPostgres } from "../support/postgres.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { runInProcess, serveInProcess } from "../support/terminal.ts";
import { startOpenService } from "../support/test-service.ts";
import { accessTokenEnvironment } from "../support/tokens.ts";

const password = "pass@word/with:signs";
let server: PostgresServer;
// One for all tests: their plants may be replayed.
let database: string;
beforeAll(async () => {
  server = await startPostgres({
    tls: true,
    access: [
      "local all plain password",
      "host all plain 127.0.0.1/32 password",
      "hostssl all gardener 127.0.0.1/32 scram-sha-256",
      "host all gardener 127.0.0.1/32 reject",
      "hostssl all all 127.0.0.1/32 trust",
    ],
  });
  await server.run(
    `CREATE ROLE gardener LOGIN SUPERUSER PASSWORD '${password}'; CREATE ROLE plain LOGIN PASSWORD 'right'`,
  );
  database = await server.newDatabase();
});
afterAll(() => server[Symbol.asyncDispose]());

const options = { databasePassword: undefined, allowUnsafeDatabase: false };
const address = (host: string, login: string, query: string, url = database) =>
  `postgres://${login}@${host}:${server.port}${new URL(url).pathname}?${query}`;
const login = `gardener:${encodeURIComponent(password)}`;
const authority = `sslrootcert=${join(import.meta.dir, "../certificates/ca.pem")}`;

/**
 * A server that answers each message of a client with the next of these. `received` is everything, once the client has closed.
 */
function impostor(hostname: string, answers: string[]) {
  const received = Promise.withResolvers<string>();
  let text = "";
  const listener = Bun.listen({
    hostname,
    port: 0,
    socket: {
      data(socket, bytes) {
        text += bytes.toString("latin1");
        socket.write(answers.shift() ?? "");
      },
      close: () => received.resolve(text),
    },
  });
  return { port: listener.port, received: received.promise, [Symbol.dispose]: () => listener.stop() };
}

describe("connecting", () => {
  /** The address of the server's socket in the file system, which is known once the server runs. */
  const socket = "SOCKET";
  const addressOf = (host: string, by: string, query: string) =>
    address(host === socket ? encodeURIComponent(server.folder) : host, by, query);

  test.each([
    ["by TLS to anyone", "127.0.0.1", login, "sslmode=require", "t"],
    ["by TLS to a known authority", "127.0.0.1", login, `sslmode=verify-ca&${authority}`, "t"],
    ["by TLS to the right name", "localhost", login, `sslmode=verify-full&${authority}`, "t"],
    ["in clear text on loopback", "127.0.0.1", "plain:right", "", "f"],
    ["in clear text on a socket", socket, "plain:right", "", "f"],
  ])("%s", async (_, host, by, query, ssl) => {
    const connection = await new Server(addressOf(host, by, query), options).open();
    const sql = "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()";
    expect(await connection.run({ text: sql })).toEqual([[ssl]]);
    connection.destroy();
  });

  // Such as a wrong password, none, and a certificate for another name.
  test.each([
    ["127.0.0.1", "gardener:not-it-at-all", "sslmode=require", "; check the user and the password in"],
    ["127.0.0.1", login, "", "; check the user in the database URL"],
    ["127.0.0.1", "gardener", "sslmode=require", "or PLANT_STORE_DATABASE_PASSWORD"],
    ["localhost", login, "sslmode=verify-full", "set sslrootcert"],
    ["127.0.0.1", login, `sslmode=verify-full&${authority}`, "name the host"],
    ["127.0.0.1", login, "sslmode=require&options=-c%20no_such=1", "no_such"],
    ["127.0.0.1", "postgres", "channel_binding=require", "channel_binding"],
  ])("to %s as %s with %p is refused in one sentence", async (host, by, query, says) => {
    const { code, err } = await runInProcess(["serve", "--database", address(host, by, query)]);
    expect(code).toBe(2);
    expect(err).toContain(says);
    expectOneLine(err);
    expect(err).not.toMatch(/pass@word|pass%40|not-it-at-all/);
  });

  test.each([
    ["asks for a login that the driver does not know", "R\0\0\0\x08\0\0\0\x07", "message type 7"],
    ["sends a row that is shorter than it says", "R\0\0\0\x08\0\0\0\0D\0\0\0\x06\0\x01", "out of range"],
  ])("to a server that %s fails with an error that can be caught", async (_, answer, says) => {
    using server = impostor("127.0.0.1", [answer]);
    const url = `postgres://anyone@127.0.0.1:${server.port}/plants?sslmode=disable`;
    await expect(new Server(url, options).open()).rejects.toThrow(says);
  });

  test("to a server that asks for such a login by TLS fails with an error that can be caught", async () => {
    const read = (file: string) => readFileSync(join(import.meta.dir, "../certificates", file));
    const certificate = { cert: read("localhost.pem"), key: read("localhost.key") };
    await using server = createServer((socket) => {
      socket.once("data", () => {
        socket.write("S");
        const secure = new TLSSocket(socket, { isServer: true, ...certificate });
        secure.once("data", () => secure.write("R\0\0\0\x08\0\0\0\x07", "latin1"));
      });
    });
    await once(server.listen(0, "127.0.0.1"), "listening");
    const { port } = server.address() as AddressInfo;
    const url = `postgres://anyone@127.0.0.1:${port}/plants?sslmode=require`;
    await expect(new Server(url, options).open()).rejects.toThrow("message type 7");
  });

  test("without a password leaves no connection open", async () => {
    // AuthenticationSASL, then AuthenticationSASLContinue.
    const messages = ["R\0\0\0\x17\0\0\0\x0aSCRAM-SHA-256\0\0", "R\0\0\0\x09\0\0\0\x0br"];
    using asksForOne = impostor("127.0.0.1", messages);
    const opened = new Server(`postgres://gardener@127.0.0.1:${asksForOne.port}/plants`, options).open();
    await expect(opened).rejects.toThrow("password must be a non-empty string");
    await asksForOne.received;
  });

  test("to three hosts that accept writes keeps one of three sessions", async () => {
    const own = await server.newDatabase();
    const { hostname, port, pathname } = new URL(own);
    const host = `${hostname}:${port}`;
    const session = await new Server(own.replace(host, `${host},${host},${host}`), options).open();
    const count = async (sql: string) => {
      const [row] = await server.run<{ count: string }>(`${sql} WHERE datname = '${pathname.slice(1)}'`);
      return Number(row?.count);
    };
    await eventually(
      async () => (await count("SELECT sessions AS count FROM pg_stat_database")) === 3,
      "three sessions to be opened",
    );
    expect(await session.run({ text: "SELECT 1" })).toEqual([["1"]]);
    await eventually(
      async () => (await count("SELECT count(*) FROM pg_stat_activity")) === 1,
      "two of them to be closed",
    );
    session.destroy();
  });

  test("with all options that managed providers put into their URLs", async () => {
    await server.run("CREATE SCHEMA garden", database);
    const query =
      "sslmode=require&channel_binding=require&options=-c%20search_path%3Dgarden&target_session_attrs=read-write";
    await using service = await startOpenService(address("127.0.0.1", login, query));
    expect((await postPlant(service.url, 1)).status).toBe(200);
    expect(await server.run("SELECT id FROM garden.plants", database)).toEqual([{ id: "1" }]);
  });

  test("with the password in PGPASSWORD, but not with a wrong one or an unreadable file", async () => {
    const url = address("127.0.0.1", "gardener", "sslmode=require", await server.newDatabase());
    const list = (environment: Record<string, string>) =>
      runInProcess(["token", "list", "--database", url], { environment });
    // It is connected, and finds that no service has run on this database.
    expect((await list({ PGPASSWORD: password })).err).toContain("no plant-store tables yet");
    expect((await list({ PLANT_STORE_DATABASE_PASSWORD: "wrong" })).code).toBe(2);
    const { code, err } = await list({ PLANT_STORE_DATABASE_PASSWORD_FILE: "/no/such/file" });
    expect(code).toBe(2);
    expect(err).toContain("PLANT_STORE_DATABASE_PASSWORD_FILE names /no/such/file, which cannot be read");
  });

  test("with a password that is wrong in its file reads it again", async () => {
    using folder = temporaryFolder();
    const file = join(folder.path, "password");
    writeFileSync(file, "wrong");
    const url = address("127.0.0.1", "gardener", "sslmode=require");
    await using service = await serveInProcess(["--database", url], {
      ...accessTokenEnvironment,
      PLANT_STORE_DATABASE_PASSWORD_FILE: file,
    });
    expect((await postPlant(service.url, 1)).status).toBe(503);
    writeFileSync(file, `${password}\n`);
    await eventually(
      async () => (await statusOf(service.url, "/readyz")) === 200,
      "the password to be read again",
    );
    expect((await postPlant(service.url, 1)).status).toBe(200);
  });
});

describe("a server that asks for the password in clear text", () => {
  // An address of this machine that is not loopback: what is sent to it never leaves the machine.
  const ownAddress = Object.values(networkInterfaces())
    .flat()
    .find((one) => one?.family === "IPv4" && !one.internal)?.address;

  // An impostor who answers in place of the real server would read it.
  test.skipIf(lacks("an address besides loopback", ownAddress === undefined))(
    "does not get it without a verified certificate",
    async () => {
      using asksForIt = impostor(ownAddress ?? "", ["R\0\0\0\x08\0\0\0\x03"]);
      const url = `postgres://gardener:hidden-password@${ownAddress}:${asksForIt.port}/plants?sslmode=disable`;
      const opened = new Server(url, options).open();
      await expect(opened).rejects.toThrow(Problem);
      await expect(opened).rejects.toThrow("asks for the password in clear text");
      await expect(opened).rejects.not.toThrow("hidden-password");
      expect(await asksForIt.received).toContain("gardener");
      expect(await asksForIt.received).not.toContain("hidden-password");
    },
  );
});

/** Changes a setting of the server, or resets it, and waits until new sessions have it. */
async function configure(name: string, value?: string): Promise<void> {
  await server.run(`ALTER SYSTEM ${value === undefined ? `RESET ${name}` : `SET ${name} = ${value}`}`);
  await server.run("SELECT pg_reload_conf()");
  const current = async () =>
    (await server.run<{ value: string }>(`SELECT current_setting('${name}') AS value`))[0];
  if (value !== undefined)
    await eventually(async () => (await current())?.value === value, `${name} = ${value}`);
}

describe("a server that can lose acknowledged writes", () => {
  describe.each(["synchronous_commit", "fsync"])("by %s=off", (setting) => {
    beforeEach(() => configure(setting, "off"));
    afterEach(() => configure(setting));

    test("is refused at the start, unless the operator allows it", async () => {
      const { code, err } = await runInProcess(["serve", "--database", database]);
      expect(code).toBe(2);
      expect(err).toContain(`has ${setting}=off`);
      const store = await openStore({ ...options, allowUnsafeDatabase: true, database });
      await store[Symbol.asyncDispose]();
    });
  });

  describe("by synchronous_commit=off since the service started", () => {
    afterEach(() => configure("synchronous_commit"));

    test("is used by open connections, which keep the setting that was checked", async () => {
      await using service = await startOpenService(database);
      expect((await postPlant(service.url, 1)).status).toBe(200);
      await configure("synchronous_commit", "off");
      expect((await postPlant(service.url, 2)).status).toBe(200);
    });

    test("is refused on each new connection, until the setting is reset", async () => {
      await using service = await startOpenService(database);
      expect((await postPlant(service.url, 1)).status).toBe(200);
      await configure("synchronous_commit", "off");
      // The service has to connect again.
      const nodes = "pg_stat_activity WHERE application_name = 'plant-store'";
      await server.run(`SELECT pg_terminate_backend(pid) FROM ${nodes}`);
      expect((await postPlant(service.url, 2)).status).toBe(503);
      expect(service.logged.join("")).toContain("synchronous_commit=off");
      await configure("synchronous_commit");
      await eventually(async () => (await postPlant(service.url, 2)).status === 200, "it to recover");
    });
  });
});

describe("a standby that does not confirm", () => {
  const waits = "FROM pg_stat_activity WHERE wait_event = 'SyncRep'";
  const waiting = async () =>
    (await server.run<{ pid: number }>(`SELECT pid ${waits}`)).map(({ pid }) => pid);
  const cancel = `SELECT pg_cancel_backend(pid) ${waits}`;
  const cancelWait = () => eventually(async () => (await server.run(cancel)).length > 0, "a commit to wait");

  /** Makes every commit wait for a standby that does not exist. */
  async function waitForStandby(): Promise<void> {
    await configure("synchronous_standby_names", "nobody");
    // The server applies it shortly after the reload: to one of the test's own writes first.
    const write = "CREATE TABLE IF NOT EXISTS standby_test (n INT); INSERT INTO standby_test VALUES (1)";
    for (;;) {
      let ended = false;
      const writing = server.run(write).finally(() => {
        ended = true;
      });
      await eventually(async () => (await waiting()).length > 0 || ended, "a write to end or to wait");
      if (!ended) {
        await Promise.all([cancelWait(), writing]);
        return;
      }
    }
  }

  afterEach(() => configure("synchronous_standby_names"));

  // A server with this setting gets the statements for Citus, which PostgreSQL also accepts.
  describe.each([
    ["PostgreSQL", ""],
    ["Citus", "?options=-c%20citus.shard_count%3D8"],
  ])("to a session that hides warnings, with the statements for %s", (form, query) => {
    test("makes a commit whose wait was cancelled a failure, and its retry wait", async () => {
      const role = `deaf_${form.toLowerCase()}`;
      await server.run(`CREATE ROLE ${role} LOGIN SUPERUSER`);
      await server.run(`ALTER ROLE ${role} SET client_min_messages = error`);
      const own = await server.newDatabase();
      await using service = await startOpenService(`${own.replace("postgres@", `${role}@`)}${query}`);

      await waitForStandby();
      const refusing = postPlant(service.url, 1);
      await cancelWait();
      const refused = await refusing;
      expect(refused.status).toBe(503);
      expect(await refused.json()).toMatchObject({ error: 50302 });
      expect(service.logged.join("")).toContain("canceling wait for synchronous replication");

      // The primary has the plant, but the standby may not.
      expect((await server.stored(own)).map(({ id }) => id)).toEqual([1n]);
      const again = postPlant(service.url, 1);
      await eventually(async () => (await waiting()).length > 0, "the retry to wait");
      await configure("synchronous_standby_names");
      expect((await again).headers.get("idempotent-replayed")).toBe("true");
    });
  });

  test("does not use up the server's connections", async () => {
    await using service = await startOpenService(database, {}, { createMsMax: 1500, writeMsMax: 500 });
    await waitForStandby();
    const refusing = postPlant(service.url, 3);
    await eventually(async () => (await waiting()).length > 0, "the commit to wait");
    const [abandoned = 0] = await waiting();
    expect((await refusing).status).toBe(503);
    // It does not notice that its client is gone, so the next connection cancels it.
    await eventually(async () => !(await waiting()).includes(abandoned), "it to be cancelled");
    await configure("synchronous_standby_names");
    await eventually(async () => (await postPlant(service.url, 3)).status === 200, "the service to recover");
  });
});
