// What each command prints and where, its help, its exit codes, and what it says if it is misused.
import { afterAll, describe, expect, test } from "bun:test";
import { chmodSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import packageFile from "../../package.json" with { type: "json" };
import { commands } from "../../src/cli/run.ts";
import { settings } from "../../src/config/settings.ts";
import { executable, plantStore, startPlantStore } from "../support/command.ts";
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
  /** A store with one token, which is named greenhouse. */
  async function storeWithToken() {
    const path = await engine.newDatabase();
    const database = ["--database", path];
    const { out } = await run("token create --name greenhouse", database);
    return { path, database, secret: out.trim() };
  }

  /** A store with a plant that the token created. */
  async function storeWithPlant() {
    const store = await storeWithToken();
    await using service = await startTestService({ database: store.path });
    expect(await statusFor(store.secret, service, 1)).toBe(200);
    return store;
  }

  async function statusFor(secret: string, service: TestService, id: number): Promise<number> {
    const body = `{"id":${id},"name":"a"}`;
    return (await post(service.url, body, bearer(secret))).status;
  }

  describe("a token", () => {
    test("is printed when it is created", async () => {
      const { code, out } = await run("token create --name greenhouse", [
        "--database",
        await engine.newDatabase(),
      ]);
      expect(code).toBe(0);
      expect(out).toMatch(/^pst_[0-9A-Za-z]{49}\n$/);
    });

    test("is accepted by the service", async () => {
      const { path, secret } = await storeWithToken();
      await using service = await startTestService({ database: path });
      expect(await statusFor(secret, service, 1)).toBe(200);
    });

    test("that is rotated while the service runs is accepted with both secrets", async () => {
      const { path, database, secret } = await storeWithToken();
      await using service = await startTestService({ database: path });
      const rotated = (await run("token rotate greenhouse", database)).out.trim();
      await eventually(async () => (await statusFor(rotated, service, 1)) === 200);
      expect(await statusFor(secret, service, 2)).toBe(200);
    });

    test("that is revoked while the service runs is refused with both secrets", async () => {
      const { path, database, secret } = await storeWithToken();
      const rotated = (await run("token rotate greenhouse", database)).out.trim();
      await using service = await startTestService({ database: path });
      expect(await statusFor(rotated, service, 1)).toBe(200);
      expect((await run("token revoke greenhouse", database)).code).toBe(0);
      await eventually(async () => (await statusFor(rotated, service, 2)) === 401);
      expect(await statusFor(secret, service, 3)).toBe(401);
    });

    test("is the creator of a plant, with either secret", async () => {
      const { path, database, secret } = await storeWithToken();
      const rotated = (await run("token rotate greenhouse", database)).out.trim();
      await using service = await startTestService({ database: path });
      await statusFor(secret, service, 1);
      await statusFor(rotated, service, 2);
      expect(await engine.stored(path)).toMatchObject([
        { id: 1n, created_by: "greenhouse" },
        { id: 2n, created_by: "greenhouse" },
      ]);
    });
  });

  test("token list has the state of every token, the oldest first", async () => {
    const { database } = await storeWithPlant();
    await run("token create --name unused", database);
    await run("token rotate greenhouse", database);
    await run("token revoke greenhouse", database);
    expect(JSON.parse((await run("token list --json", database)).out)).toMatchObject([
      { name: "greenhouse", state: "revoked", lastUsedAt: expect.any(String) },
      { name: "unused", state: "live", lastUsedAt: null },
      { name: "greenhouse", state: "revoked" },
    ]);
  });

  test("audit has what was done to a token, the newest first", async () => {
    const { database } = await storeWithToken();
    await run("token rotate greenhouse", database);
    await run("token revoke greenhouse", database);
    expect(JSON.parse((await run("audit --json --limit 2", database)).out)).toMatchObject([
      { action: "token.revoked", subject: "greenhouse", address: null, actor: expect.stringMatching(/^os:/) },
      { action: "token.rotated", at: expect.stringMatching(/^\d{4}-.*Z$/) },
    ]);
  });

  test.each([
    ["list --limit 1", /greenhouse/],
    ["show 1 --json", /"createdBy": "greenhouse"/],
    ["export", /^\{"id":1,"name":"a"/],
  ])("%s prints a plant", async (line, plant) => {
    const { database } = await storeWithPlant();
    const { code, out } = await run(line, database);
    expect(code).toBe(0);
    expect(out).toMatch(plant);
  });
});

// test/access/secrets.test.ts holds that no secret is in them.
describe("a list of tokens", () => {
  async function storeWithToken() {
    const database = newDatabase();
    await run("token create --name ops --scope operator --expires 90d", database);
    return database;
  }

  test("is a table", async () => {
    const { out } = await run("token list", await storeWithToken());
    expect(out).toMatch(
      /^id +name +scopes +createdAt +createdBy +lastUsedAt +state\n[0-9a-f]{8} +ops +operator +\S+ +os:\S+ +- +live until/,
    );
  });

  test("has no digest in its JSON", async () => {
    const { out } = await run("token list --json", await storeWithToken());
    const fields = "createdAt createdBy expiresAt id lastUsedAt name revokedAt scopes state";
    expect(Object.keys(JSON.parse(out)[0]).sort()).toEqual(fields.split(" "));
  });
});

test("audit prints a table", async () => {
  const database = newDatabase();
  await run("token create --name ops", database);
  const { out } = await run("audit", database);
  expect(out).toMatch(/^at +actor +action +subject +address +detail\n/);
});

describe("help", () => {
  test("is on standard output", async () => {
    const { code, err } = await runInProcess(["--help"]);
    expect(code).toBe(0);
    expect(err).toBe("");
  });

  test("is on standard error, as a misuse, without a command", async () => {
    const { out } = await runInProcess(["--help"]);
    expect(await runInProcess([])).toEqual({ code: 2, out: "", err: out });
  });

  test("opens with examples", async () => {
    const { out } = await runInProcess(["--help"]);
    expect(out.indexOf("Examples")).toBeGreaterThanOrEqual(0);
    expect(out.indexOf("Examples")).toBeLessThan(out.indexOf("Commands"));
  });

  test("has one line for each command", async () => {
    const lines = (await runInProcess(["--help"])).out.split("\n");
    const first = lines.indexOf("Commands") + 1;
    const listed = lines.slice(first, lines.indexOf("", first)).map((line) => line.trim().split(" ")[0]);
    const names =
      "serve token audit list show export import backup restore verify copy config doctor ready version";
    expect(listed).toEqual(names.split(" "));
  });

  test("fits on one screen", async () => {
    const { out } = await runInProcess(["--help"]);
    const lines = out.split("\n");
    expect(lines.length).toBeLessThanOrEqual(24);
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(80);
    expect(out).not.toContain("\u001b");
  });

  describe.each(Object.keys(commands))("of %s", (name) => {
    const help = () => runInProcess([...name.split(" "), "--help"]);

    test("has examples", async () => {
      const { code, out } = await help();
      expect(code).toBe(0);
      expect(out).toContain("Examples");
    });

    test("fits a terminal of 80 columns", async () => {
      const { out } = await help();
      expect(out.split("\n").filter((line) => line.length > 80)).toEqual([]);
    });

    const canBeQuiet = name !== "serve";
    test(`${canBeQuiet ? "offers" : "does not offer"} --quiet`, async () => {
      const { out } = await help();
      expect(out.includes("--quiet")).toBe(canBeQuiet);
    });

    const usesToken = ["serve", "import"].includes(name);
    test(`${usesToken ? "names" : "does not name"} the variable of a secret`, async () => {
      const { out } = await help();
      expect(out.includes("  PLANT_STORE_ACCESS_TOKEN")).toBe(usesToken);
    });
  });

  // The executable has no terminal here, and so 80 columns.
  test.skipIf(executable !== undefined)("of serve fits a terminal of 120 columns", async () => {
    const { out } = await runInProcess(["serve", "--help"], { terminal: { outColumns: 120 } });
    const widths = out.split("\n").map((line) => line.length);
    expect(Math.max(...widths)).toBeLessThanOrEqual(120);
    expect(Math.max(...widths)).toBeGreaterThan(80);
  });

  test("of serve has every setting once, under a heading", async () => {
    const { out } = await runInProcess(["serve", "--help"]);
    const flags = [...out.matchAll(/^ {2}--([a-z-]+)/gm)].map(([, flag]) => flag);
    expect(flags.sort()).toEqual(
      Object.values(settings)
        .map(({ flag }) => flag)
        .sort(),
    );
    expect(out).toContain("\n\nLogs\n  --log-level LEVEL");
  });

  test("of a command ends with the exit codes", async () => {
    const { out } = await runInProcess(["list", "--help"]);
    expect(out).toEndWith("\nExit codes\n  0 done, 1 failed, 2 misused, 130 or 143 interrupted\n");
  });

  test("of serve ends with the exit codes, of which a stop by a signal has 0", async () => {
    const { out } = await runInProcess(["serve", "--help"]);
    expect(out).toEndWith("\nExit codes\n  0 stopped, 1 failed, 2 misused\n");
  });

  test.each(["backup", "restore", "verify"])("of %s names no PostgreSQL, which it refuses", async (name) => {
    const { out } = await runInProcess([name, "--help"]);
    expect(out).not.toContain("postgres://");
  });

  test("of token has all its commands", async () => {
    const { code, out } = await runInProcess(["help", "token"]);
    const verbs = [...out.matchAll(/^plant-store (\w+ \w+)/gm)].map(([, verb]) => verb);
    expect(code).toBe(0);
    expect(verbs).toEqual(["token create", "token list", "token rotate", "token revoke"]);
  });
});

describe("a command that is misused", () => {
  // FILE stands for a data file that does not exist.
  test.each<[line: string, said: string, code?: number]>([
    ["constructor", 'Unknown command "constructor". See plant-store --help.'],
    ["--listen :0", "Put a command before --listen, such as serve."],
    ["--database=postgres://me:secret@x list", "Put a command before --database,"],
    ["serve --listen 3000", "--listen must be HOST:PORT"],
    ["token", "token needs create, list, rotate or revoke. See plant-store token --help."],
    ["list --photosynthesis=secret", "Unknown flag --photosynthesis. See plant-store list --help."],
    ["serve --quiet", "Unknown flag --quiet. See plant-store serve --help."],
    ["import a.csv --token secret", "Unknown flag --token; set the environment variable PLANT_STORE_"],
    ["list -x", "Unknown flag -x. See plant-store list --help."],
    ["list --limit", "--limit needs a value. See plant-store list --help."],
    ["list --limit --json", "--limit needs a value. See plant-store list --help."],
    ["list --limit -5", '--limit must be an integer from 1 to 100000; it is "-5". See plant-store list'],
    ["list --json=yes", "--json takes no value. See plant-store list --help."],
    ["list --since soon", "--since must be a time"],
    ["list x", 'Unexpected argument "x"'],
    ["backup a.db b.db", 'Unexpected argument "b.db". See plant-store backup --help.'],
    ["show", "Usage: plant-store show ID. See plant-store show --help."],
    ["show 1.5", "The id must be an integer"],
    ["export --format xml", "--format must be ndjson, json, csv or csv-safe"],
    ["token create", "Usage: plant-store token create --name NAME"],
    ["token create --name x --scope all", '"all"'],
    ["token create --name x --expires -1d", "--expires must be"],
    ["token revoke", "Usage: plant-store token revoke NAME|ID"],
    ["token revoke nobody --database FILE", "Run this where the service runs, or name it with --database", 1],
    ["token list --database FILE", "There is no data file at", 1],
    ["audit --limit 0", "--limit must be"],
    ["ready --url http://me:secret@127.0.0.1:1", "--url must be an http or https URL"],
    // An address reserved for documentation, so that no machine has it.
    ["serve --listen 192.0.2.1:3000 --database FILE", "must be an address of this machine", 1],
  ])("%s", async (line, said, code = 2) => {
    const file = folder.newPath();
    const result = await runInProcess(line.replace("FILE", file).split(" "));
    expect(result.code).toBe(code);
    expect(result.out).toBe("");
    expect(result.err).toContain(said);
    expect(result.err).toStartWith("plant-store: ");
    expect(result.err).not.toContain("secret");
  });

  test.each([
    ["improt plants.csv", "Did you mean import?"],
    ["tokens create", "Did you mean token?"],
    ["token crate", "Did you mean token create?"],
    ["list --datbase plants.db", "Did you mean --database?"],
    ["list --data plants.db", "Did you mean --database?"],
    ["list -json", "Did you mean --json?"],
    ["import plants.csv --dryrun", "Did you mean --dry-run?"],
    ["serve --port 3000", "Did you mean --listen 127.0.0.1:3000?"],
    ["serve --port=3000", "Did you mean --listen 127.0.0.1:3000?"],
    ["serve --port", "Did you mean --listen 127.0.0.1:PORT?"],
    ["serve --port secret", "Did you mean --listen 127.0.0.1:PORT?"],
    ["token create greenhouse", "Did you mean --name greenhouse?"],
    ["verify plants.db", "Did you mean --database plants.db?"],
    ["copy a.db b.db", "Did you mean --from a.db?"],
    ["copy --from a.db b.db", "Did you mean --to b.db?"],
    ["copy postgres://me:secret@x/plants b.db", "Did you mean --from 'postgres://me:***@x/plants'?"],
  ])("is told what was probably meant: %s", async (line, suggestion) => {
    const { code, err } = await runInProcess(line.split(" "));
    expect(code).toBe(2);
    expect(err).toContain(`. ${suggestion} See plant-store `);
    expect(err).not.toContain("secret");
  });

  test.each(["photosynthesise", "list --photosynthesis", "list fern", "list --port 3000"])(
    "gets no suggestion if nothing is near: %s",
    async (line) => {
      const { code, err } = await runInProcess(line.split(" "));
      expect(code).toBe(2);
      expect(err).not.toContain("Did you mean");
    },
  );

  test.each([
    ["revoke nobody", 'No live token is named "nobody"'],
    ["rotate nobody", 'No live token is named "nobody"'],
    ["create --name somebody", "rotate or revoke"],
    ["create --name=green\u2028house", "Use letters (all Latin or none)"],
  ])("names what is wrong with the name of a token: token %j", async (line, said) => {
    const own = newDatabase();
    await run("token create --name somebody", own);
    const { code, err } = await run(`token ${line}`, own);
    expect(code).toBe(1);
    expect(err).toContain(said);
  });

  test.each(["serve", "token create --name a", "list", "verify"])(
    "%s refuses a folder as the data file",
    async (line) => {
      using data = temporaryFolder();
      const { code, out, err } = await run(line, ["--database", data.path]);
      expect(code).toBe(1);
      expect(out).toBe("");
      expect(err).toBe(
        `plant-store: ${data.path} is a folder; name a file in it, such as ${data.path}/plant-store.db.\n`,
      );
      expect(readdirSync(data.path)).toEqual([]);
    },
  );
});

describe("--quiet", () => {
  test("leaves the data", async () => {
    const created = await run("token create --name a --quiet", newDatabase());
    expect(created).toEqual({ code: 0, out: expect.stringMatching(/^pst_\w{49}\n$/), err: "" });
  });

  // BACKUP stands for a file that does not exist.
  test.each(["token revoke a", "list", "verify", "backup BACKUP"])(
    "leaves no message of %s",
    async (line) => {
      const database = newDatabase();
      await run("token create --name a", database);
      const finished = await run(
        `${line.replace("BACKUP", join(folder.path, "quiet.db"))} --quiet`,
        database,
      );
      expect(finished).toEqual({ code: 0, out: "", err: "" });
    },
  );

  test("leaves an error and its exit code", async () => {
    const database = newDatabase();
    await run("token create --name a", database);
    const missing = await run("show 5 --quiet", database);
    expect(missing).toEqual({ code: 1, out: "", err: "plant-store: No plant has the id 5.\n" });
  });
});

describe("config", () => {
  test("has the names of --json as headings", async () => {
    const { out } = await runInProcess(["config"]);
    expect(out).toMatch(/^name +value +source\n/);
  });

  test.each([
    { name: "listen", value: "[::1]:1", source: "flag" },
    { name: "max-pending", value: "77", source: "environment" },
    { name: "log-level", value: "info", source: "default" },
    { name: "PLANT_STORE_ACCESS_TOKEN", value: "(set, not shown)", source: "environment" },
  ])("has the value and the source of $name", async (setting) => {
    const environment = {
      PLANT_STORE_MAX_PENDING: "77",
      PLANT_STORE_ACCESS_TOKEN: "a-secret-of-twenty-letters",
    };
    const { out } = await runInProcess(["config", "--listen", "[::1]:1", "--json"], { environment });
    expect(JSON.parse(out)).toContainEqual(expect.objectContaining(setting));
    expect(out).not.toContain("a-secret");
  });

  test("names a variable that it does not know", async () => {
    const environment = { PLANT_STORE_DATABSE: "x" };
    const { err } = await runInProcess(["config", "--json"], { environment });
    expect(err).toBe("plant-store: Unknown variable PLANT_STORE_DATABSE.\n");
  });

  const withPassword = "postgres://me:hidden@127.0.0.1:1/plants";

  test("warns of a password in a flag", async () => {
    const { out, err } = await runInProcess(["config", "--database", withPassword]);
    expect(err).toContain("Every user of this machine can read the password in --database; use");
    expect(out).not.toContain("hidden");
  });

  test("does not warn of a password in a variable", async () => {
    const { out, err } = await runInProcess(["config"], {
      environment: { PLANT_STORE_DATABASE: withPassword },
    });
    expect(err).toBe("");
    expect(out).not.toContain("hidden");
  });
});

describe("control characters of the environment", () => {
  const environment = {
    PLANT_STORE_DATABASE: "plants\u001b]0;pwned\u0007\n.db",
    "PLANT_STORE_\u009b31m": "x",
    PLANT_STORE_LOG_LEVEL: "\u001b[2J",
  };
  // Colours and cursor movements; the line ends are its own.
  const control = /(?!\n)\p{Cc}/u;

  test("are escaped by config, in each line", async () => {
    const { out } = await runInProcess(["config"], { environment });
    expect(out).not.toMatch(control);
    expect(out).toContain("database ");
    expect(out).toContain("plants\\u{1b}]0;pwned\\u{7}\\u{a}.db");
  });

  test("are escaped by config, in its messages", async () => {
    const { code, err } = await runInProcess(["config"], { environment });
    expect(code).toBe(2);
    expect(err).not.toMatch(control);
    expect(err).toContain("Unknown variable PLANT_STORE_\\u{9b}31m.\n");
  });

  test("are escaped by config --json", async () => {
    const { out } = await runInProcess(["config", "--json"], { environment });
    expect(out).not.toMatch(control);
    const value = environment.PLANT_STORE_DATABASE;
    expect(JSON.parse(out)).toContainEqual(
      expect.objectContaining({ name: "database", value, source: "environment" }),
    );
  });
});

test("import warns of a token file that other users can read", async () => {
  using open = temporaryFolder();
  chmodSync(open.path, 0o755);
  const token = join(open.path, "token");
  writeFileSync(token, "a-token-of-twenty-characters\n", { mode: 0o644 });
  const environment = { PLANT_STORE_ACCESS_TOKEN_FILE: token };
  const { err } = await runInProcess(["import", "nowhere"], { environment });
  expect(err).toStartWith(`plant-store: Other users can read or write ${token}, which has mode 644; `);
});

describe("ready", () => {
  const baseUrl = "https://plants.example.org/garden/v1";

  async function start() {
    const running = await startTestService({ "base-url": baseUrl });
    const [listen = "", operatorListen = ""] = running.service.addresses;
    return {
      running,
      publicUrl: `http://${listen}/garden/v1`,
      operatorUrl: `http://${operatorListen}`,
      environment: {
        PLANT_STORE_LISTEN: listen,
        PLANT_STORE_OPERATOR_LISTEN: operatorListen,
        PLANT_STORE_BASE_URL: baseUrl,
      },
      [Symbol.asyncDispose]: () => running[Symbol.asyncDispose](),
    };
  }

  test("asks the operator listener", async () => {
    await using service = await start();
    const { code, out, err } = await runInProcess(["ready"], { environment: service.environment });
    expect(code).toBe(0);
    expect(out).toBe("");
    expect(err).toBe(`${service.operatorUrl} is ready.\n`);
  });

  test("asks the public listener if the other is off", async () => {
    await using service = await start();
    const environment = { ...service.environment, PLANT_STORE_OPERATOR_LISTEN: "off" };
    const { code, out, err } = await runInProcess(["ready"], { environment });
    expect(code).toBe(0);
    expect(out).toBe("");
    expect(err).toBe(`${service.publicUrl} is ready.\n`);
  });

  test("asks the URL that is given", async () => {
    await using service = await start();
    const { code, out, err } = await runInProcess(["ready", "--url", service.publicUrl]);
    expect(code).toBe(0);
    expect(out).toBe("");
    expect(err).toBe(`${service.publicUrl} is ready.\n`);
  });

  test("fails without a response", async () => {
    await using service = await start();
    await service.running.service.stop("test", 0);
    const { code, err } = await runInProcess(["ready", "--url", service.publicUrl]);
    expect(code).toBe(1);
    expect(err).toBe(`${service.publicUrl} is not ready: no response (ECONNREFUSED).\n`);
  });

  test("prints whether it is ready as JSON", async () => {
    await using running = await startTestService();
    const url = running.url;
    const { code, out, err } = await runInProcess(["ready", "--json", "--url", url]);
    expect(code).toBe(0);
    expect(JSON.parse(out)).toEqual({ url, ready: true, problem: null });
    expect(err).toBe("");
  });

  test("prints why it is not ready as JSON", async () => {
    const url = "http://127.0.0.1:1";
    const { code, out } = await runInProcess(["ready", "--json", "--url", url]);
    expect(code).toBe(1);
    expect(JSON.parse(out)).toEqual({ url, ready: false, problem: "no response (ECONNREFUSED)." });
  });

  test.each([
    [502, '{"error":"upstream"}'],
    [200, "null"],
  ])("does not take another program's %i with %s for the service", async (status, body) => {
    using other = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response(body, { status }) });
    const url = other.url.origin;
    const { code, err } = await runInProcess(["ready", "--url", url]);
    const reason = `something else responded, with status ${status}. Check the URL, and that the service is running.`;
    expect(code).toBe(1);
    expect(err).toBe(`${url} is not ready: ${reason}\n`);
  });

  test("does not follow a redirect, which could lead to another service", async () => {
    await using running = await startTestService();
    using other = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      fetch: () => Response.redirect(`${running.url}/readyz`, 307),
    });
    const url = other.url.origin;
    const { code, err } = await runInProcess(["ready", "--url", url]);
    expect(code).toBe(1);
    expect(err).toBe(
      `${url} is not ready: it redirects to ${running.url}/readyz, which is not followed. Check the URL.\n`,
    );
  });
});

test.each(["version", "--version", "-v"])("%s prints the version", async (argument) => {
  expect(await runInProcess([argument])).toMatchObject({ code: 0, out: `${packageFile.version}\n` });
});

describe("the process", () => {
  test("writes data to standard output and messages to standard error", async () => {
    const created = await plantStore(["token", "create", "--name", "a", ...newDatabase()]);
    expect(created.code).toBe(0);
    expect(created.out).toMatch(/^pst_\w{49}\n$/);
    expect(created.err).toMatch(
      /Token \w \(\w{8}\) allows plants:create\.\nSave the secret now; it is not shown again:\n$/,
    );
  });

  // It may not be where its user expects it.
  test("says that it created the data file", async () => {
    const database = newDatabase();
    const create = (name: string) => plantStore(["token", "create", "--name", name, ...database]);
    expect((await create("a")).err).toStartWith(`Created the data file ${database[1]}.\n`);
    expect((await create("b")).err).toStartWith("Token b ");
  });

  test("that is misused exits with 2", async () => {
    const { code, out } = await plantStore(["sevre"]);
    expect(code).toBe(2);
    expect(out).toBe("");
  });

  test("that Ctrl-C interrupts exits with 130", async () => {
    const connected = Promise.withResolvers<void>();
    const fetch = () => {
      connected.resolve();
      return new Promise<Response>(() => {});
    };
    using silent = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch });
    const args = ["ready", "--url", silent.url.origin];
    const running = startPlantStore(args, { ownGroup: true, through: "launcher" });
    await connected.promise;
    process.kill(-(running.child.pid ?? 0), "SIGINT");
    const { code, err } = await running.ended;
    // Without the launcher, the shell makes the code of the signal.
    expect(code ?? running.child.signalCode).toBe(executable === undefined ? 130 : "SIGINT");
    expect(err).toBe("");
  });
});
