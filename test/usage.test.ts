import { describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { post, startTestService, temporaryFolder } from "./harness.ts";
import { runInProcess } from "./terminal.ts";

describe("a command that was mistyped", () => {
  const cases: [line: string, said: string][] = [
    ["imprt plants.csv", 'unknown command "imprt"; did you mean import? See plant-store --help.'],
    ["sevre", 'unknown command "sevre"; did you mean serve?'],
    ["tokne list", 'unknown command "tokne"; did you mean token?'],
    ["token creat --name a", "token needs create, list, rotate or revoke; did you mean create?"],
    ["token xyz", "token needs create, list, rotate or revoke. See plant-store token --help."],
    ["photosynthesis", 'unknown command "photosynthesis". See plant-store --help.'],
    ["list --databse a.db", "unknown flag --databse; did you mean --database? See plant-store list --help."],
    ["token create --nme=a", "unknown flag --nme; did you mean --name? See plant-store token create --help."],
    ["list --format csv", "unknown flag --format. See plant-store list --help."],
    ["list --photosynthesis=secret", "unknown flag --photosynthesis. See plant-store list --help."],
    ["serve --port 8080", "unknown flag --port; did you mean --listen? See plant-store serve --help."],
    ["list --db a.db", "unknown flag --db; did you mean --database? See plant-store list --help."],
    ["backup b.db --port 1", "unknown flag --port. See plant-store backup --help."],
    [
      "import a.csv --token secret",
      "unknown flag --token; set the environment variable PLANT_STORE_ACCESS_TOKEN. See plant-store import --help.",
    ],
    ["list -x", "unknown flag -x. See plant-store list --help."],
    ["list --limit", "--limit needs a value. See plant-store list --help."],
    ["list --json=yes", "--json takes no value. See plant-store list --help."],
    ["show", "usage: plant-store show ID. See plant-store show --help."],
    ["list --limit 0", "See plant-store list --help."],
  ];
  for (const [line, said] of cases) {
    test(`${line} is refused with the way out`, async () => {
      const { code, out, err } = await runInProcess(line.split(" "));
      expect([code, out]).toEqual([2, ""]);
      expect(err).toStartWith("plant-store: ");
      expect(err).toContain(said);
      expect(err).not.toContain("secret");
    });
  }
});

describe("a command that needs a token", () => {
  test("names its variable in the help", async () => {
    for (const command of ["import", "serve"])
      expect((await runInProcess([command, "--help"])).out).toContain("  PLANT_STORE_ACCESS_TOKEN");
    expect((await runInProcess(["list", "--help"])).out).not.toContain("PLANT_STORE_ACCESS_TOKEN");
  });

  test.skipIf(process.platform === "win32")("warns of a token file that other users can read", async () => {
    using folder = temporaryFolder();
    chmodSync(folder.path, 0o755);
    const [token, plants] = [join(folder.path, "token"), join(folder.path, "plants.ndjson")];
    writeFileSync(token, "a-token-of-twenty-characters\n", { mode: 0o644 });
    writeFileSync(plants, "");
    const environment = { PLANT_STORE_ACCESS_TOKEN_FILE: token };
    const warning = `plant-store: other users can read or write ${token}, which has mode 644; run chmod 600 on it.\n`;
    expect((await runInProcess(["import", plants], { environment })).err).toContain(warning);
    expect((await runInProcess(["config"], { environment })).err).toBe("");
    chmodSync(token, 0o600);
    expect((await runInProcess(["import", plants], { environment })).err).not.toContain("chmod");
  });
});

describe("--quiet", () => {
  test("leaves the data and the exit code, and no message but errors", async () => {
    using folder = temporaryFolder();
    const database = ["--database", join(folder.path, "plants.db")];
    const created = await runInProcess(["token", "create", "--name", "a", "--quiet", ...database]);
    expect(created).toEqual({ code: 0, out: expect.stringMatching(/^pst_\w{49}\n$/), err: "" });
    expect((await runInProcess(["token", "rotate", "a", ...database])).err).toContain(
      "The old secret is valid",
    );
    for (const words of [
      ["token", "revoke", "a"],
      ["list"],
      ["verify"],
      ["backup", join(folder.path, "b.db")],
    ])
      expect(await runInProcess([...words, "--quiet", ...database])).toEqual({ code: 0, out: "", err: "" });
    expect((await runInProcess(["verify", ...database])).err).toContain("is intact");
    const missing = await runInProcess(["show", "5", "--quiet", ...database]);
    expect(missing).toEqual({ code: 1, out: "", err: "plant-store: no plant has the id 5.\n" });
  });

  test("is in the help of every command but serve, which has --log-level", async () => {
    expect((await runInProcess(["list", "--help"])).out).toContain("--quiet");
    expect((await runInProcess(["serve", "--help"])).out).not.toContain("--quiet");
    expect((await runInProcess(["serve", "--quiet"])).err).toContain("unknown flag --quiet");
  });
});

describe("a wrong place", () => {
  for (const line of [["serve"], ["token", "create", "--name", "a"], ["list"], ["verify"]])
    test(`${line.join(" ")} refuses a folder as the data file, and leaves no file`, async () => {
      using folder = temporaryFolder();
      const data = join(folder.path, "data");
      mkdirSync(data);
      const { code, out, err } = await runInProcess([...line, "--database", data]);
      expect([code, out]).toEqual([1, ""]);
      expect(err).toBe(
        `plant-store: ${data} is a folder; name a file in it, such as ${data}/plant-store.db.\n`,
      );
      expect([readdirSync(folder.path), readdirSync(data)]).toEqual([["data"], []]);
    });

  test("verify of a file of another kind says that it may be the wrong one", async () => {
    using folder = temporaryFolder();
    const file = join(folder.path, "plants.csv");
    writeFileSync(file, "id,name,tag\n1,Fern,indoor\n".repeat(100));
    const { code, err } = await runInProcess(["verify", "--database", file]);
    expect([code, err]).toEqual([1, expect.stringContaining("check --database if it is not a data file")]);
  });

  test("serve says which hosts and ports can be listened on", async () => {
    using folder = temporaryFolder();
    // Reserved for documentation, so that no machine has it.
    const listen = ["--listen", "192.0.2.1:3000", "--operator-listen", "off"];
    const { code, err } = await runInProcess(["serve", ...listen, "--database", join(folder.path, "a.db")]);
    expect([code, err]).toEqual([1, expect.stringContaining("The host must be an address of this machine")]);
  });
});

describe("times", () => {
  test("are printed with their zone, and read as UTC if they have none", async () => {
    using folder = temporaryFolder();
    const database = ["--database", join(folder.path, "plants.db")];
    await using service = await startTestService({}, database[1]);
    await post(service.url, '{"id":1,"name":"木","tag":"x"}');
    const { out } = await runInProcess(["list", ...database]);
    expect(out).toMatch(/^ID +NAME +TAG +STORED +BY\n1 +木 +x +\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ +\S+\n$/);
    const main = join(import.meta.dir, "../src/main.ts");
    const hourAgo = new Date(Date.now() - 3_600_000).toISOString().slice(0, 19);
    // Twelve hours after UTC there: read as local, the time would be in the future.
    const env = { PATH: process.env["PATH"] ?? "", TZ: "Etc/GMT+12" };
    const listed = spawnSync(process.execPath, [main, "list", "--since", hourAgo, ...database], {
      env,
      encoding: "utf8",
    });
    expect(listed.stdout).toContain("木");
  });
});
