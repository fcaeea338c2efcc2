import { describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { judgeFsync } from "../src/cli/doctor.ts";
import { type Finished, plantStore, serve } from "./command.ts";
import { accessToken, temporaryFolder } from "./harness.ts";
import { canMount, startPostgres } from "./postgres.ts";
import { runInProcess } from "./terminal.ts";

interface Finding {
  readonly check: string;
  readonly outcome: "ok" | "warn" | "fail";
  readonly message: string;
  readonly advice: string | null;
}

const main = fileURLToPath(new URL("../src/main.ts", import.meta.url));
const certificates = fileURLToPath(new URL("certificates", import.meta.url));
const freePorts = ["--listen", "127.0.0.1:0", "--operator-listen", "127.0.0.1:0"];

function parse({ out }: Pick<Finished, "out">): readonly Finding[] {
  return JSON.parse(out).findings;
}

/** In this process, since starting one for each case would take most of the time. */
async function examine(
  args: readonly string[],
): Promise<{ code: number | null; find(check: string): Finding | undefined }> {
  const { code, out } = await runInProcess(["doctor", "--json", ...freePorts, ...args]);
  const findings = parse({ out });
  return { code, find: (name) => findings.find(({ check }) => check === name) };
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
      const [listen, operatorListen] = [service.url, service.operatorUrl].map((url) => new URL(url).host);
      const { code, find } = await examine([
        ...["--database", file, "--listen", listen ?? "", "--operator-listen", operatorListen ?? ""],
      ]);
      expect([code, find("data file")]).toMatchObject([0, { outcome: "ok" }]);
      expect(find("data file")?.message).toContain("a service has it open");
      expect(find("folder")?.message).toMatch(/mode 700, owner \S+, .+ free$/);
      expect(find("fsync")?.message).toMatch(/^median [\d.]+ ms, p99 [\d.]+ ms, of \d+/);
      for (const [check, address] of [
        ["public listener", listen],
        ["operator listener", operatorListen],
      ] as const)
        expect(find(check)).toMatchObject({
          outcome: "ok",
          message: `${address} is in use by a plant-store that responds`,
        });
      expect(readdirSync(folder.path)).toEqual(before);
      service.child.kill("SIGTERM");
      await service.ended();
    }
    const bytes = readFileSync(file);
    before = readdirSync(folder.path);
    const { code, out } = await plantStore(["doctor", "--database", file, ...freePorts]);
    expect(code).toBe(0);
    expect(out).toMatch(/^(?:ok|warn) +folder +\S+, mode 700, /);
    expect(out.trim().split("\n")).toHaveLength(5);
    expect(out).toContain("no service has it open");
    expect(out).toContain("127.0.0.1:0 is free");
    expect(out).not.toContain("\u001b");
    expect(readdirSync(folder.path)).toEqual(before);
    expect(readFileSync(file).equals(bytes)).toBe(true);
  });

  test("need not exist yet", async () => {
    using folder = temporaryFolder();
    const { code, find } = await examine(["--database", join(folder.path, "new", "plants.db")]);
    expect([code, find("folder")?.advice]).toEqual([0, expect.stringContaining("does not exist yet")]);
    expect(find("folder")?.advice).not.toContain("chmod");
    expect(readdirSync(folder.path)).toEqual([]);
  });
});

describe("the disk", () => {
  if (canMount) {
    test("that is read-only fails, with what to do", () => {
      const { code, findings } = examineMount('mount -o remount,ro none "$1"');
      expect([code, findings.find(({ check }) => check === "folder")]).toEqual([
        1,
        {
          check: "folder",
          outcome: "fail",
          message: expect.stringMatching(/may not write to \S+: the filesystem is read-only$/),
          advice: expect.stringContaining("--database"),
        },
      ]);
    });

    test("that is full fails, and the probe file is removed", () => {
      const fill = "{ dd if=/dev/zero of=filler bs=1k count=2048 2>/dev/null || true; }";
      const { code, findings, left } = examineMount(fill);
      expect([code, left]).toEqual([1, "filler\n"]);
      const failed = findings.filter(({ outcome }) => outcome === "fail");
      expect(failed.map(({ check }) => check)).toEqual(["folder", "fsync"]);
      expect(failed[0]?.message).toContain("0 bytes free: on a full disk");
      expect(failed[1]?.message).toBe("the disk is full");
    });
  } else
    console.error("Doctor's tests of a read-only and a full disk need root and mounts; they did not run.");

  test("with a folder that others can write to causes a warning", async () => {
    using folder = temporaryFolder();
    const inner = join(folder.path, "data");
    mkdirSync(inner);
    chmodSync(inner, 0o777);
    const { code, find } = await examine(["--database", join(inner, "plants.db")]);
    expect([code, find("folder")]).toMatchObject([
      0,
      { outcome: "warn", advice: expect.stringContaining(`Run chmod 700 on ${inner}`) },
    ]);
  });

  test("is doubted if an fsync is faster than a device can flush, or slow", () => {
    const times = (ms: number) => judgeFsync(Array.from({ length: 100 }, () => ms));
    expect(times(1.25).facts).toBe("median 1.250 ms, p99 1.250 ms, of 100");
    const doubtsOf = (ms: number) => times(ms).doubts?.filter(Boolean);
    expect(doubtsOf(1.25)).toEqual([]);
    expect(doubtsOf(0.02)).toEqual([expect.stringContaining("Most devices cannot flush that fast")]);
    expect(doubtsOf(40)).toEqual([expect.stringContaining("slow")]);
  });

  test("is checked in every respect, even if one check throws", async () => {
    using folder = temporaryFolder();
    const file = join(folder.path, "file");
    writeFileSync(file, "");
    const { code, find } = await examine(["--database", join(file, "plants.db")]);
    expect([code, find("fsync")]).toMatchObject([
      1,
      { outcome: "fail", message: "part of its path is not a directory" },
    ]);
    expect(find("operator listener")).toMatchObject({ outcome: "ok" });
  });
});

test("a file that is not plant-store's, or was replaced, fails; a recorded failure is a warning", async () => {
  using folder = temporaryFolder();
  const file = join(folder.path, "plants.db");
  writeFileSync(file, "not a database, but long enough to be read as the header of one, or so it seems...");
  const foreign = await examine(["--database", file]);
  expect([foreign.code, foreign.find("data file")]).toMatchObject([1, { outcome: "fail" }]);

  const own = join(folder.path, "own.db");
  await runInProcess(["token", "create", "--name", "a", "--database", own]);
  writeFileSync(`${own}.failure.json`, '{"reason":"sync-failed"}');
  const failed = await examine(["--database", own]);
  expect([failed.code, failed.find("data file")]).toMatchObject([
    0,
    { outcome: "warn", advice: expect.stringContaining("An fsync failed") },
  ]);
  const gone = join(folder.path, "gone.db");
  writeFileSync(`${gone}.failure.json`, '{"reason":"replaced"}');
  const replaced = await examine(["--database", gone]);
  expect([replaced.code, replaced.find("data file")]).toMatchObject([
    1,
    {
      outcome: "fail",
      message: expect.stringContaining("deleted, replaced or overwritten while the service ran"),
    },
  ]);
});

describe("an address", () => {
  /** Examines the public listener on the port of a server, beside a data file that a service has open. */
  async function examineBeside(respond: RequestListener, flags: readonly string[] = []) {
    using folder = temporaryFolder();
    const file = join(folder.path, "plants.db");
    const server = createServer(respond);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const listen = `127.0.0.1:${(server.address() as AddressInfo).port}`;
    const environment = { PLANT_STORE_ACCESS_TOKEN: accessToken };
    await using service = await serve(["--database", file], { environment });
    const { code, find } = await examine(["--database", file, "--listen", listen, ...flags]);
    server.close();
    return { code, listen, finding: find("public listener"), url: service.url, folder: folder.path };
  }

  test("that another program has fails, even if that responds to /livez", async () => {
    const { code, listen, finding } = await examineBeside((_, response) => response.end("OK"));
    expect([code, finding]).toEqual([
      1,
      {
        check: "public listener",
        outcome: "fail",
        message: `${listen} is in use, and no plant-store responds there`,
        advice: "Free the address, or choose another with --listen.",
      },
    ]);
  });

  test("that asks for a client certificate is a warning, because doctor has none", async () => {
    const { code, finding } = await examineBeside(() => {}, [
      ...[
        "--tls-cert",
        join(certificates, "localhost.pem"),
        "--tls-key",
        join(certificates, "localhost.key"),
      ],
      ...["--tls-client-ca", join(certificates, "localhost.pem")],
    ]);
    expect([code, finding]).toMatchObject([0, { outcome: "warn" }]);
  });

  test("that the service of another store has fails", async () => {
    using folder = temporaryFolder();
    const environment = { PLANT_STORE_ACCESS_TOKEN: accessToken };
    await using other = await serve(["--database", join(folder.path, "other.db")], { environment });
    const { host } = new URL(other.url);
    const { code, find } = await examine(["--database", join(folder.path, "own.db"), "--listen", host]);
    expect([code, find("public listener")?.message]).toEqual([
      1,
      `${host} is in use, and no service has this data file open`,
    ]);
  });

  test("that is not this machine's fails", async () => {
    using folder = temporaryFolder();
    // Reserved for documentation.
    const { code, find } = await examine([
      ...["--database", join(folder.path, "p.db"), "--operator-listen", "192.0.2.1:3001"],
    ]);
    expect([code, find("operator listener")]).toMatchObject([
      1,
      { outcome: "fail", message: expect.stringContaining("must be an address of this machine") },
    ]);
  });
});

test("a PostgreSQL server that is unsafe, lacks privileges or cannot be reached fails", async () => {
  await using server = await startPostgres({ settings: { fsync: "off" } });
  const database = await server.newDatabase();
  const unsafe = await examine(["--database", database]);
  expect([unsafe.code, unsafe.find("database")]).toMatchObject([
    1,
    { outcome: "fail", message: expect.stringContaining("has fsync=off") },
  ]);
  const allowed = ["--allow-unsafe-database", "yes", "--database"];
  const fresh = await examine([...allowed, database]);
  expect([fresh.code, fresh.find("database")?.message]).toEqual([
    0,
    expect.stringMatching(/^PostgreSQL [\d.]+\w* accepts writes and has no tables yet; the first start/),
  ]);

  await runInProcess(["token", "create", "--name", "a", ...allowed, database]);
  expect((await examine([...allowed, database])).find("database")?.message).toContain(
    "has the tables; the role",
  );
  await server.run("CREATE ROLE guest LOGIN", database);
  await server.run("GRANT SELECT ON ALL TABLES IN SCHEMA public TO guest", database);
  const guest = await examine([...allowed, database.replace("postgres@", "guest@")]);
  expect([guest.code, guest.find("database")?.message]).toEqual([
    1,
    expect.stringContaining("role guest lacks INSERT on the table plants"),
  ]);

  await server.stop("fast");
  const gone = await examine(["--database", database.replace("postgres@", "postgres:not-shown@")]);
  expect([gone.code, gone.find("database")]).toMatchObject([1, { outcome: "fail" }]);
  expect(gone.find("public listener")).toMatchObject({ outcome: "ok" });
  expect(JSON.stringify(gone.find("database"))).not.toContain("not-shown");
}, 30_000);
