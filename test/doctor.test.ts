import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Authority } from "./certificates.ts";
import { type Finished, plantStore, serve } from "./command.ts";
import { accessToken, post, temporaryFolder } from "./harness.ts";
import { startProvider } from "./identity-provider.ts";
import { canMount, startPostgres } from "./postgres.ts";
import { runInProcess } from "./terminal.ts";

interface Finding {
  readonly check: string;
  readonly outcome: "ok" | "warn" | "fail";
  readonly message: string;
  readonly advice: string | null;
}

const main = fileURLToPath(new URL("../src/main.ts", import.meta.url));
const shared = fileURLToPath(new URL("certificates", import.meta.url));

function parse({ out }: Pick<Finished, "out">): readonly Finding[] {
  return JSON.parse(out).findings;
}

/** In this process, since starting one for each case would take most of the time. */
async function examine(
  args: readonly string[],
  environment: Record<string, string> = {},
): Promise<{ code: number | null; find(check: string): Finding[] }> {
  const { code, out } = await runInProcess(["doctor", "--json", ...args], { environment });
  const findings = parse({ out });
  return { code, find: (check) => findings.filter((finding) => finding.check === check) };
}

/** Runs doctor on a tmpfs of a megabyte that a shell has prepared. */
function examineMount(prepare: string): {
  code: number | null;
  findings: readonly Finding[];
  left: string;
} {
  using folder = temporaryFolder();
  const script = `mount -t tmpfs -o size=1m none "$1" && cd "$1" && ${prepare} && { "$2" "$3" doctor --json --database "$1/plants.db"; code=$?; ls -A >&2; exit $code; }`;
  const args = ["-m", "sh", "-c", script, "sh", folder.path, process.execPath, main];
  const { status, stdout, stderr } = spawnSync("unshare", args, { encoding: "utf8" });
  return { code: status, findings: parse({ out: stdout }), left: stderr };
}

describe("a healthy store", () => {
  test("passes, with and without a running service, and is left unchanged", async () => {
    using folder = temporaryFolder();
    const file = join(folder.path, "plants.db");
    chmodSync(folder.path, 0o700);
    let before: string[];
    {
      await using service = await serve(["--database", file], {
        environment: { PLANT_STORE_ACCESS_TOKEN: accessToken },
      });
      before = readdirSync(folder.path);
      const { code, find } = await examine(["--database", file]);
      expect([code, find("data file")]).toMatchObject([0, [{ outcome: "ok" }]]);
      expect(find("data file")[0]?.message).toContain("a service has it open");
      expect(find("durability")[0]?.message).toContain("journal_mode wal");
      expect(find("folder")).toMatchObject([{ outcome: "ok" }]);
      expect(find("fsync")[0]?.message).toMatch(/^median [\d.]+ ms, p99 [\d.]+ ms, of \d+/);
      expect(readdirSync(folder.path)).toEqual(before);
      service.child.kill("SIGTERM");
      await service.ended();
    }
    const bytes = readFileSync(file);
    before = readdirSync(folder.path);
    const { code, out } = await plantStore(["doctor", "--database", file]);
    expect(code).toBe(0);
    expect(out).toMatch(/^ok +runtime +plant-store \S+, Bun\/\S+, \w+/);
    expect(out).toContain("no service has it open");
    expect(out).not.toContain("\u001b");
    expect(readdirSync(folder.path)).toEqual(before);
    expect(readFileSync(file).equals(bytes)).toBe(true);
  });

  test("need not exist yet", async () => {
    using folder = temporaryFolder();
    const { code, find } = await examine(["--database", join(folder.path, "new", "plants.db")]);
    expect([code, find("folder")[0]?.message]).toEqual([0, expect.stringContaining("does not exist yet")]);
    expect(readdirSync(folder.path)).toEqual([]);
  });
});

describe("what is broken in the folder", () => {
  if (canMount) {
    test("a read-only one fails, with what to do", () => {
      const { code, findings } = examineMount('mount -o remount,ro none "$1"');
      expect([code, findings.find(({ check }) => check === "folder")]).toEqual([
        1,
        {
          check: "folder",
          outcome: "fail",
          message: expect.stringContaining("cannot be written to: the filesystem is read-only"),
          advice: expect.stringContaining("--database"),
        },
      ]);
    });

    test("a full one fails, and the probe file is removed", () => {
      const fill = "{ dd if=/dev/zero of=filler bs=1k count=2048 2>/dev/null || true; }";
      const { code, findings, left } = examineMount(fill);
      expect([code, left]).toEqual([1, "filler\n"]);
      expect(findings.filter(({ outcome }) => outcome === "fail").map(({ check }) => check)).toEqual([
        "free space",
        "fsync",
      ]);
      expect(findings.find(({ check }) => check === "fsync")?.message).toContain("the disk is full");
      expect(findings.find(({ check }) => check === "filesystem")?.message).toContain("in memory");
    });
  } else
    console.error("Doctor's tests of a read-only and a full disk need root and mounts; they did not run.");

  test("a folder that others can write to, and files that they can read, cause warnings", async () => {
    using folder = temporaryFolder();
    const inner = join(folder.path, "data");
    mkdirSync(inner);
    chmodSync(folder.path, 0o755);
    chmodSync(inner, 0o777);
    const token = join(inner, "token");
    writeFileSync(token, accessToken);
    chmodSync(token, 0o644);
    const { code, find } = await examine(["--database", join(inner, "plants.db")], {
      PLANT_STORE_ACCESS_TOKEN_FILE: token,
      PLANT_STORE_LISTN: "x",
    });
    expect(code).toBe(0);
    expect(find("folder")).toMatchObject([{ outcome: "warn", advice: expect.stringContaining("chmod 700") }]);
    expect(find("file modes")).toMatchObject([{ outcome: "warn", advice: "Run chmod 600 on it." }]);
    expect(find("settings")[0]?.message).toContain("PLANT_STORE_LISTN");
  });

  test("a file that is not plant-store's fails; a recorded failure is a warning", async () => {
    using folder = temporaryFolder();
    const file = join(folder.path, "plants.db");
    writeFileSync(file, "not a database, but long enough to be read as the header of one, or so it seems...");
    const foreign = await examine(["--database", file]);
    expect([foreign.code, foreign.find("data file")]).toMatchObject([1, [{ outcome: "fail" }]]);

    const own = join(folder.path, "own.db");
    await runInProcess(["token", "create", "--name", "a", "--database", own]);
    writeFileSync(`${own}.failure.json`, '{"reason":"sync-failed"}');
    const failed = await examine(["--database", own]);
    expect(failed.code).toBe(0);
    expect(failed.find("data file")).toMatchObject([
      { outcome: "warn", message: expect.stringContaining("an fsync failed") },
    ]);
  });

  test("a clock that is before the last plant, and a WAL that a crash left, are found", async () => {
    using folder = temporaryFolder();
    const file = join(folder.path, "plants.db");
    {
      await using service = await serve(["--database", file], {
        environment: { PLANT_STORE_ACCESS_TOKEN: accessToken },
      });
      await post(service.url, '{"id":1,"name":"a"}');
      // It is killed, which leaves the WAL.
    }
    const crashed = await examine(["--database", file]);
    expect(crashed.code).toBe(0);
    expect(crashed.find("WAL")[0]?.message).toContain("the next start recovers it");
    using database = new Database(file);
    database.run("UPDATE plants SET created_at_ms = created_at_ms + 86400000");
    const { find } = await examine(["--database", file]);
    expect(find("clock").map(({ message }) => message)).toContainEqual(
      expect.stringContaining("which is in the future"),
    );
  });

  test("a library that turns fsync off fails", async () => {
    using folder = temporaryFolder();
    const { code, find } = await examine(["--database", join(folder.path, "plants.db")], {
      LD_PRELOAD: "libeatmydata.so",
    });
    expect([code, find("fsync")]).toMatchObject([1, [{ outcome: "fail" }]]);
  });
});

describe("the network", () => {
  test("a certificate that expired, or is for another name, is found", async () => {
    using folder = temporaryFolder();
    const database = ["--database", join(folder.path, "plants.db")];
    const { cert, key } = new Authority(folder.path, "ca").issue("server");
    const soon = await examine([...database, "--tls-cert", cert, "--tls-key", key]);
    expect(soon.find("certificate")).toMatchObject([
      { outcome: "warn", message: expect.stringMatching(/expires in [12] days?, on/) },
    ]);
    const elsewhere = ["--base-url", "https://plants.example.org"];
    const other = await examine([...database, "--tls-cert", cert, "--tls-key", key, ...elsewhere]);
    expect(other.find("certificate")[0]?.message).toContain("is not for plants.example.org");

    const expired = join(folder.path, "expired.pem");
    const args = ["x509", "-in", cert, "-signkey", key, "-out", expired];
    expect(spawnSync("openssl", [...args, "-days", "-1"]).status).toBe(0);
    const past = await examine([...database, "--tls-cert", expired, "--tls-key", key]);
    expect([past.code, past.find("certificate")]).toMatchObject([
      1,
      [{ outcome: "fail", message: expect.stringContaining("expired.pem expired on 20") }],
    ]);
    const mismatch = await examine([
      ...database,
      "--tls-cert",
      join(shared, "localhost.pem"),
      "--tls-key",
      key,
    ]);
    expect(mismatch.find("certificate")[0]?.message).toContain("does not belong to the certificate");
  });

  test("an issuer that responds passes; one that cannot be reached fails", async () => {
    using folder = temporaryFolder();
    const database = ["--database", join(folder.path, "plants.db")];
    const flags = (issuer: string) => ["--oidc-issuer", issuer, "--oidc-audience", "plants", ...database];
    let issuer: string;
    {
      await using provider = await startProvider();
      issuer = provider.issuer;
      const there = await examine(flags(issuer));
      expect([there.code, there.find("issuer")]).toMatchObject([
        0,
        [{ outcome: "ok", message: `${issuer} responds, with 1 key` }],
      ]);
    }
    const gone = await examine(flags(issuer));
    expect([gone.code, gone.find("issuer")]).toMatchObject([1, [{ outcome: "fail" }]]);
  });

  test("a listener without TLS, an untrusted proxy, and trusting everyone as a proxy cause warnings", async () => {
    using folder = temporaryFolder();
    const database = ["--database", join(folder.path, "plants.db")];
    const open = await examine([...database, "--listen", "0.0.0.0:0", "--base-url", "http://example.org"]);
    expect(open.code).toBe(0);
    expect(open.find("listeners")[0]?.message).toContain("0.0.0.0:0 can be reached from other machines");
    expect(open.find("proxy").map(({ message }) => message)).toEqual([
      expect.stringContaining("is not https"),
      expect.stringContaining("--trusted-proxies is not set"),
    ]);
    const all = await examine([...database, "--trusted-proxies", "0.0.0.0/0"]);
    expect(all.find("proxy")[0]?.message).toContain("trusts every client");
  });
});

test("PostgreSQL's unsafe settings, absent standbys and missing privileges are found", async () => {
  await using server = await startPostgres({ settings: { fsync: "off", full_page_writes: "off" } });
  const database = await server.newDatabase();
  const unsafe = await examine(["--database", database]);
  expect([unsafe.code, unsafe.find("durability")]).toMatchObject([
    1,
    [{ outcome: "fail", message: "fsync=off, synchronous_commit=on, full_page_writes=off" }],
  ]);
  expect(unsafe.find("database")[0]?.message).toMatch(/^PostgreSQL [\d.]+\w*, encoding UTF8$/);
  expect(unsafe.find("privileges")[0]?.message).toContain("no tables yet");
  expect(unsafe.find("standbys")).toMatchObject([{ outcome: "ok" }]);

  await runInProcess([
    "token",
    "create",
    "--name",
    "a",
    "--allow-unsafe-database",
    "yes",
    "--database",
    database,
  ]);
  await server.run("CREATE ROLE guest LOGIN", database);
  await server.run("GRANT SELECT ON ALL TABLES IN SCHEMA public TO guest", database);
  const guest = await examine(["--database", database.replace("postgres@", "guest@")]);
  expect(guest.find("privileges")).toMatchObject([
    { outcome: "fail", message: expect.stringContaining("the role guest lacks INSERT on the table plants") },
  ]);

  await server.run("ALTER SYSTEM SET synchronous_standby_names = 'nobody'");
  await server.run("SELECT pg_reload_conf()");
  const waiting = async () => (await examine(["--database", database])).find("standbys");
  let standbys = await waiting();
  while (standbys[0]?.outcome === "ok") standbys = await waiting();
  expect(standbys).toMatchObject([
    { outcome: "fail", message: "synchronous_standby_names=nobody, and none of them is connected" },
  ]);

  await server.stop("fast");
  const gone = await examine(["--database", database.replace("postgres@", "postgres:not-shown@")]);
  expect([gone.code, gone.find("database")]).toMatchObject([1, [{ outcome: "fail" }]]);
  expect(JSON.stringify(gone.find("database"))).not.toContain("not-shown");
}, 30_000);
