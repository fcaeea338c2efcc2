import { describe, expect, test } from "bun:test";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import packageFile from "../package.json" with { type: "json" };
import { commands } from "../src/cli/run.ts";
import { executable, plantStore, serve, startPlantStore } from "./command.ts";
import { onEveryEngine } from "./engines.ts";
import {
  accessToken,
  eventually,
  operatorToken,
  post,
  startTestService,
  temporaryFolder,
} from "./harness.ts";
import { runInProcess } from "./terminal.ts";

const authorization = (secret: string) => ({ Authorization: `Bearer ${secret}` });

onEveryEngine((engine) => {
  describe("tokens on the command line", () => {
    test("are created, reach a running service, and are rotated and revoked", async () => {
      const path = await engine.newDatabase();
      const database = ["--database", path];
      await using service = await serve(database);
      let id = 1;
      const status = async (secret: string) =>
        (await post(service.url, `{"id":${id++},"name":"a"}`, authorization(secret))).status;

      const created = await plantStore(["token", "create", "--name", "greenhouse", ...database]);
      expect(created.code).toBe(0);
      const secret = created.out.trim();
      expect(secret).toMatch(/^pst_[0-9A-Za-z]{49}$/);
      expect(created.err).not.toContain(secret);
      await eventually(async () => (await status(secret)) === 200, 1000);

      const rotated = await runInProcess(["token", "rotate", "greenhouse", "--overlap", "4s", ...database]);
      const next = rotated.out.trim();
      await eventually(async () => (await status(next)) === 200, 1000);
      expect(await status(secret)).toBe(200);
      await eventually(async () => (await status(secret)) === 401, 5500);
      expect(await status(next)).toBe(200);

      expect((await runInProcess(["token", "revoke", "greenhouse", ...database])).code).toBe(0);
      await eventually(async () => (await status(next)) === 401, 1000);
      const stored = await engine.stored(path);
      expect(stored.every((plant) => plant.created_by === "greenhouse")).toBe(true);
    }, 20_000);

    test("are listed without secrets or digests, as a table and as JSON", async () => {
      const database = ["--database", await engine.newDatabase()];
      const { out: secret } = await runInProcess([
        "token",
        "create",
        "--name",
        "ops",
        "--scope",
        "operator",
        "--expires",
        "90d",
        "--rate-limit",
        "9/m",
        ...database,
      ]);
      const { out: table } = await runInProcess(["token", "list", ...database]);
      expect(table).toMatch(
        /^ID +NAME +SCOPES +CREATED +CREATED BY +LAST USED +RATE LIMIT +STATE\n[0-9a-f]{8} +ops +operator +\S+ +os:\S+ +- +9\/m +live until/,
      );
      const { out } = await runInProcess(["token", "list", "--json", ...database]);
      const [listed] = JSON.parse(out);
      expect(listed).toEqual({
        id: expect.any(String),
        name: "ops",
        scopes: ["operator"],
        createdAt: expect.any(String),
        expiresAt: expect.any(String),
        revokedAt: null,
        createdBy: expect.stringMatching(/^os:\S+$/),
        lastUsedAt: null,
        rateLimit: "9/m",
        state: "live",
      });
      for (const text of [table, out]) expect(text).not.toContain(secret.trim());
    });

    for (const verb of ["revoke", "rotate"]) {
      test(`${verb} refuses an unknown name`, async () => {
        const database = ["--database", await engine.newDatabase()];
        await runInProcess(["token", "create", "--name", "somebody", ...database]);
        const { code, err } = await runInProcess(["token", verb, "nobody", ...database]);
        expect([code, err]).toEqual([1, expect.stringContaining('No live token is called "nobody"')]);
      });
    }

    test("rotate does not extend a secret that expires before the overlap ends", async () => {
      const database = ["--database", await engine.newDatabase()];
      await runInProcess(["token", "create", "--name", "short", "--expires", "10m", ...database]);
      const list = async () => JSON.parse((await runInProcess(["token", "list", "--json", ...database])).out);
      const [{ expiresAt }] = await list();
      const { err } = await runInProcess(["token", "rotate", "short", "--overlap", "24h", ...database]);
      expect(err).toContain(`The old secret is valid until ${expiresAt}.`);
      expect(await list()).toMatchObject([{ expiresAt }, { state: "live" }]);
    });

    test("revoke and rotate warn if the secret is also preset and stays valid", async () => {
      const database = ["--database", await engine.newDatabase()];
      const { out } = await runInProcess([
        "token",
        "create",
        "--name",
        "both",
        "--scope",
        "operator",
        ...database,
      ]);
      const environment = { PLANT_STORE_ACCESS_TOKEN: out.trim() };
      for (const verb of ["rotate", "revoke"]) {
        const { err } = await runInProcess(["token", verb, "both", ...database], { environment });
        expect(err).toContain("The secret is also preset as preset-access and still allows plants:create");
        expect(err).not.toContain(out.trim());
      }
      await runInProcess(["token", "create", "--name", "other", ...database]);
      const { err } = await runInProcess(["token", "revoke", "other", ...database], { environment });
      expect(err).toMatch(/^Revoked other \(\w{8}\)\.\n$/);
    });

    test("and their uses reach the list once the service has written them", async () => {
      const database = ["--database", await engine.newDatabase()];
      const secret = (await runInProcess(["token", "create", "--name", "used", ...database])).out.trim();
      await runInProcess(["token", "create", "--name", "unused", ...database]);
      const sinceMs = Date.now();
      const service = await serve(database);
      expect((await post(service.url, '{"id":1,"name":"a"}', authorization(secret))).status).toBe(200);
      service.child.kill("SIGTERM");
      expect((await service.ended()).code).toBe(0);
      const [used, unused] = JSON.parse((await runInProcess(["token", "list", "--json", ...database])).out);
      expect(Date.parse(used.lastUsedAt)).toBeGreaterThan(sinceMs - 1000);
      expect(unused.lastUsedAt).toBeNull();
    }, 30_000);

    test("leave a trail, which audit prints as a table and as JSON", async () => {
      const database = ["--database", await engine.newDatabase()];
      const { out } = await runInProcess(["token", "create", "--name", "traced", ...database]);
      await runInProcess(["token", "rotate", "traced", ...database]);
      await runInProcess(["token", "revoke", "traced", ...database]);
      const { out: table } = await runInProcess(["audit", ...database]);
      expect(table.split("\n")[0]).toMatch(/^AT +ACTOR +ACTION +SUBJECT +ADDRESS +DETAIL$/);
      const { out: json } = await runInProcess(["audit", "--json", "--limit", "2", ...database]);
      expect(JSON.parse(json)).toMatchObject([
        { action: "token.revoked", subject: "traced", address: null, actor: expect.stringMatching(/^os:/) },
        { action: "token.rotated", at: expect.stringMatching(/^\d{4}-.*Z$/) },
      ]);
      for (const text of [table, json]) expect(text).not.toContain(out.trim());
    });

    test("create refuses a name that is in use", async () => {
      const args = ["token", "create", "--name", "x", "--database", await engine.newDatabase()];
      expect((await runInProcess(args)).code).toBe(0);
      expect((await runInProcess(args)).err).toContain("rotate or revoke");
    });
  });
});

describe("invalid token commands", () => {
  const invalid: [string[], number, string][] = [
    [["token"], 2, "token needs create, list, rotate or revoke"],
    [["token", "create"], 2, "usage: plant-store token create --name NAME"],
    [["token", "create", "--name", "x", "--scope", "all"], 2, '"all"'],
    [["token", "create", "--name", "x", "--expires", "soon"], 2, "--expires must be"],
    [["token", "create", "--name", "x", "--rate-limit", "none"], 2, "--rate-limit must be a count"],
    [["token", "create", "--name", "preset-access"], 1, "is reserved"],
    [["audit"], 1, "does not exist"],
    [["audit", "--limit", "0"], 2, "--limit must be"],
    [["token", "create", "--name", " x"], 1, "Use single spaces"],
    [["token", "create", "--name", "green\u2028house"], 1, "The name contains U+2028."],
    [["token", "revoke"], 2, "usage: plant-store token revoke NAME|ID"],
    [["token", "revoke", "nobody"], 1, "does not exist"],
    [["token", "list"], 1, "does not exist"],
  ];
  for (const [args, code, message] of invalid) {
    test(`${args.join(" ")} is refused`, async () => {
      using folder = temporaryFolder();
      const result = await runInProcess(
        args[0] === "token" && args.length === 1 ? args : [...args, "--database", join(folder.path, "p.db")],
      );
      expect([result.code, result.err]).toEqual([code, expect.stringContaining(message)]);
      expect(result.out).toBe("");
    });
  }
});

describe("the other commands", () => {
  test("--help opens with examples and has one line for each command, on one screen", async () => {
    const { code, out, err } = await runInProcess(["--help"]);
    expect([code, err]).toEqual([0, ""]);
    expect(out.indexOf("Examples")).toBeLessThan(out.indexOf("Commands"));
    const lines = out.split("\n");
    const first = lines.indexOf("Commands") + 1;
    const listed = lines.slice(first, lines.indexOf("", first)).map((line) => line.trim().split(" ")[0]);
    const names =
      "serve token audit list show export import backup restore verify copy config doctor ready version";
    expect(listed).toEqual(names.split(" "));
    expect(lines.length).toBeLessThanOrEqual(24);
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(80);
    expect(out).not.toContain("\u001b");
  });

  test("without a command it prints the help and exits with 2", async () => {
    const { code, out, err } = await plantStore([]);
    expect([code, out, err]).toEqual([2, "", (await runInProcess(["--help"])).out]);
  });

  for (const name of Object.keys(commands)) {
    test(`${name} --help`, async () => {
      const { code, out } = await runInProcess([...name.split(" "), "--help"]);
      expect([code, out]).toEqual([0, expect.stringContaining("Examples")]);
    });
  }

  for (const args of [
    ["token", "--help"],
    ["help", "token"],
  ]) {
    test(`${args.join(" ")} explains all token commands`, async () => {
      const { code, out } = await runInProcess(args);
      expect(code).toBe(0);
      for (const verb of ["create", "list", "rotate", "revoke"])
        expect(out).toContain(`plant-store token ${verb}`);
      expect(out).not.toContain("plant-store import");
    });
  }

  for (const name of ["backup", "restore", "verify"]) {
    test(`${name} --help does not offer a PostgreSQL URL, which it would refuse`, async () => {
      const { out } = await runInProcess([name, "--help"]);
      expect(out).toContain("--database PATH ");
      expect(out).not.toContain("postgres://");
    });
  }

  test("config lists each effective setting and its source, without secrets", async () => {
    const environment = {
      PLANT_STORE_MAX_PENDING: "77",
      PLANT_STORE_ACCESS_TOKEN: "a-secret-of-twenty-letters",
    };
    const { out } = await runInProcess(["config", "--listen", "[::1]:1", "--json"], { environment });
    const settings = JSON.parse(out) as { name: string; value: string; source: string }[];
    const find = (name: string) => settings.find((setting) => setting.name === name);
    expect(find("listen")).toEqual({ name: "listen", value: "[::1]:1", source: "flag" });
    expect(find("max-pending")).toEqual({ name: "max-pending", value: "77", source: "environment" });
    expect(find("log-level")?.source).toBe("default");
    expect(find("PLANT_STORE_ACCESS_TOKEN")?.value).toBe("(set, not shown)");
    expect(out).not.toContain(environment.PLANT_STORE_ACCESS_TOKEN);
  });

  test("a password in a flag causes a warning, one in a variable does not", async () => {
    const url = "postgres://me:hidden@127.0.0.1:1/plants";
    const inFlag = await runInProcess(["config", "--database", url]);
    expect(inFlag.code).toBe(0);
    expect(inFlag.err).toBe(
      "plant-store: every user of this machine can read the password in --database; use PLANT_STORE_DATABASE_PASSWORD_FILE.\n",
    );
    const inVariable = await runInProcess(["config"], { environment: { PLANT_STORE_DATABASE: url } });
    expect([inVariable.code, inVariable.err]).toEqual([0, ""]);
    expect(inFlag.out + inVariable.out).not.toContain("hidden");
  });

  test("a command that Ctrl-C interrupts exits with 130", async () => {
    const connected = Promise.withResolvers<void>();
    const silent = createServer(() => connected.resolve()).listen(0, "127.0.0.1");
    await once(silent, "listening");
    const { port } = silent.address() as AddressInfo;
    const args = ["ready", "--url", `http://127.0.0.1:${port}`];
    const running = startPlantStore(args, { ownGroup: true, through: "launcher" });
    await connected.promise;
    process.kill(-(running.child.pid ?? 0), "SIGINT");
    const { code, err } = await running.ended;
    silent.close();
    // Without the launcher, the shell makes the code of the signal.
    expect([code ?? running.child.signalCode, err]).toEqual([executable === undefined ? 130 : "SIGINT", ""]);
  });

  test("a pipe that is closed early is not an error", () => {
    const ran = Bun.spawnSync([
      "sh",
      "-c",
      `node ${join(import.meta.dir, "../bin/plant-store.js")} serve --help | head -1`,
    ]);
    expect([ran.stdout.toString(), ran.stderr.toString()]).toEqual([
      "plant-store serve: run the service\n",
      "",
    ]);
  });
});

describe("plant-store ready", () => {
  test("exits 0 for a service that can store plants, and 1 for none", async () => {
    await using running = await startTestService();
    const ready = await runInProcess(["ready", "--url", running.url]);
    expect([ready.code, ready.out, ready.err]).toEqual([0, "", `${running.url} is ready.\n`]);
    await running.service.close("test", 0);
    const gone = await runInProcess(["ready", "--url", running.url]);
    expect([gone.code, gone.err]).toEqual([1, `${running.url} is not ready: no response (ECONNREFUSED).\n`]);
    expect((await runInProcess(["ready", "--url", "ftp://example.org"])).code).toBe(2);
  });

  test.each([
    ["a proxy without a service behind it", 502, "<h1>502 Bad Gateway</h1>"],
    ["a proxy that explains it in JSON", 502, '{"error":"upstream"}'],
    ["another program that is ready", 200, "OK"],
    ["another program whose JSON is no object", 200, "null"],
  ])("does not take %s for the service", async (_, status, body) => {
    await using other = createServer((_request, response) => response.writeHead(status).end(body));
    await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${(other.address() as AddressInfo).port}`;
    const { code, err } = await runInProcess(["ready", "--url", url]);
    const reason = `something else responded, with status ${status}`;
    expect([code, err]).toEqual([
      1,
      `${url} is not ready: ${reason}. Check the URL, and that the service is running.\n`,
    ]);
  });

  test("asks the operator listener of a service that is configured like itself", async () => {
    await using running = await startTestService({ "base-url": "https://plants.example.org/garden/v1" });
    const [, operatorListen = ""] = running.service.addresses;
    const environment = {
      PLANT_STORE_OPERATOR_LISTEN: operatorListen,
      PLANT_STORE_BASE_URL: "https://plants.example.org/garden/v1",
    };
    const ready = await runInProcess(["ready"], { environment });
    expect([ready.code, ready.err]).toEqual([0, `http://${operatorListen} is ready.\n`]);
  });

  test("asks the public listener, under the path of the base URL, if there is no operator listener", async () => {
    const baseUrl = "https://plants.example.org/garden/v1";
    await using running = await startTestService({ "base-url": baseUrl, "operator-listen": "off" });
    const [listen = ""] = running.service.addresses;
    const environment = {
      PLANT_STORE_LISTEN: listen,
      PLANT_STORE_OPERATOR_LISTEN: "off",
      PLANT_STORE_BASE_URL: baseUrl,
    };
    const ready = await runInProcess(["ready"], { environment });
    expect([ready.code, ready.err]).toEqual([0, `http://${listen}/garden/v1 is ready.\n`]);
  });
});

for (const args of [
  ["ready", "--url"],
  ["import", "plants.csv", "--url"],
])
  test(`plant-store ${args[0]} accepts no URL with a password, and prints none`, async () => {
    const environment = {
      PLANT_STORE_OPERATOR_TOKEN: operatorToken,
      PLANT_STORE_ACCESS_TOKEN: accessToken,
    };
    for (const login of ["me:hidden", ":hidden", "me:hidden@hidden"]) {
      const { code, out, err } = await runInProcess([...args, `http://${login}@127.0.0.1:1`], {
        environment,
      });
      expect([code, out, err]).toEqual([2, "", expect.stringContaining("must be an http or https URL")]);
      expect(err).not.toContain("hidden");
    }
  });

test.each(["version", "--version", "-v"])("plant-store %s prints the version", async (argument) => {
  const { code, out } = await runInProcess([argument]);
  expect([code, out]).toEqual([0, `${packageFile.version}\n`]);
});
