import { afterAll, describe, expect, spyOn, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { judgeFsync } from "../src/cli/doctor.ts";
import { main } from "./command.ts";
import { startTestService, temporaryFolder } from "./harness.ts";
import { lacks } from "./lacks.ts";
import { canMount, usePostgres } from "./postgres.ts";
import { runInProcess } from "./terminal.ts";

type Finding = Readonly<Record<"check" | "outcome" | "message" | "advice", string>>;

const freePorts = ["--listen", "127.0.0.1:0", "--operator-listen", "127.0.0.1:0"];
const service = await startTestService();
const folder = temporaryFolder();
afterAll(async () => {
  await service[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

async function examine(...args: readonly string[]) {
  const { code, out } = await runInProcess(["doctor", "--json", ...freePorts, ...args]);
  const findings: readonly Finding[] = JSON.parse(out).findings;
  return { code, find: (name: string) => findings.find(({ check }) => check === name) };
}

describe("a healthy store", () => {
  test("passes while its service runs", async () => {
    const [listen = "", operatorListen = ""] = service.service.addresses;
    const addresses = ["--listen", listen, "--operator-listen", operatorListen];
    const { code, find } = await examine("--database", service.database, ...addresses);
    expect([code, find("data file")]).toMatchObject([0, { outcome: "ok" }]);
    expect(find("data file")?.message).toContain("a service has it open");
    expect(find("folder")?.message).toMatch(/ free$/);
    expect(find("fsync")?.message).toMatch(/^median [\d.]+ ms, p99 [\d.]+ ms, of \d+/);
    const message = expect.stringContaining("is in use, and a service has this data file open");
    for (const check of ["public listener", "operator listener"])
      expect(find(check)).toMatchObject({ outcome: "ok", message });
  });

  test("passes without a service, in one line for each check, and is left unchanged", async () => {
    const file = join(folder.path, "healthy.db");
    await runInProcess(["token", "create", "--name", "a", "--database", file]);
    const before = [readdirSync(folder.path), readFileSync(file)];
    const { code, out } = await runInProcess(["doctor", "--database", file, ...freePorts]);
    expect(code).toBe(0);
    expect(out).toMatch(/^(?:ok|warn) +folder +\S+, .+ free/);
    expect(out.trim().split("\n")).toHaveLength(5);
    for (const fact of ["no service has it open", "127.0.0.1:0 is free"]) expect(out).toContain(fact);
    expect([readdirSync(folder.path), readFileSync(file)]).toEqual(before);
  });

  test("need not exist yet", async () => {
    const { code, find } = await examine("--database", join(folder.path, "new", "plants.db"));
    expect([code, find("folder")?.advice]).toEqual([0, expect.stringContaining("does not exist yet")]);
  });
});

describe("the disk", () => {
  test.skipIf(lacks("root and mounts", !canMount))(
    "that is full fails, and the probe file is removed",
    () => {
      using mounted = temporaryFolder();
      const fill = "{ dd if=/dev/zero of=filler bs=1k count=2048 2>/dev/null || true; }";
      const examineThere =
        '{ "$2" "$3" doctor --json --database "$1/plants.db"; code=$?; ls -A >&2; exit $code; }';
      const script = `mount -t tmpfs -o size=1m none "$1" && cd "$1" && ${fill} && ${examineThere}`;
      const args = ["-m", "sh", "-c", script, "sh", mounted.path, process.execPath, main];
      const { status, stdout, stderr } = spawnSync("unshare", args, { encoding: "utf8" });
      expect([status, stderr]).toEqual([1, "filler\n"]);
      const findings: readonly Finding[] = JSON.parse(stdout).findings;
      expect(findings.filter(({ outcome }) => outcome === "fail")).toMatchObject([
        { check: "folder", message: expect.stringContaining("0 bytes free: on a full disk") },
        { check: "fsync", message: "the disk is full" },
      ]);
    },
  );

  test.each([
    [1.25, []],
    [0.02, [expect.stringContaining("Most devices cannot flush that fast")]],
    [40, [expect.stringContaining("slow")]],
  ])("whose fsyncs take %p ms has the doubts that it deserves", (ms, expected) => {
    const { facts, doubts } = judgeFsync(Array.from({ length: 100 }, () => ms));
    expect(facts).toBe(`median ${ms.toFixed(3)} ms, p99 ${ms.toFixed(3)} ms, of 100`);
    expect(doubts?.filter(Boolean) as unknown[]).toEqual(expected);
  });
});

test("a file that is not plant-store's, or was replaced, fails; a recorded failure is a warning", async () => {
  const examineFile = async (name: string) => {
    const { code, find } = await examine("--database", join(folder.path, name));
    return [code, find("data file")];
  };
  writeFileSync(join(folder.path, "foreign.db"), "not a database, but long enough for a header".repeat(9));
  expect(await examineFile("foreign.db")).toMatchObject([1, { outcome: "fail" }]);

  await runInProcess(["token", "create", "--name", "a", "--database", join(folder.path, "own.db")]);
  writeFileSync(join(folder.path, "own.db.failure.json"), '{"reason":"sync-failed"}');
  const advice = expect.stringContaining("An fsync failed");
  expect(await examineFile("own.db")).toMatchObject([0, { outcome: "warn", advice }]);

  writeFileSync(join(folder.path, "gone.db.failure.json"), '{"reason":"replaced"}');
  const message = expect.stringContaining("deleted, replaced or overwritten while the service ran");
  expect(await examineFile("gone.db")).toMatchObject([1, { outcome: "fail", message }]);
});

describe("the certificate", () => {
  const certificates = join(import.meta.dir, "certificates");
  const expiresAtMs = Date.parse("2126-10-22T04:49:13Z");
  const dayMs = 86_400_000;
  const examineCertificate = async (cert: string, key: string) => {
    const files = ["--tls-cert", join(certificates, cert), "--tls-key", join(certificates, key)];
    const { code, find } = await examine("--database", service.database, ...files);
    return { code, finding: find("certificate") };
  };

  test("is not examined without TLS", async () => {
    const { find } = await examine("--database", service.database);
    expect(find("certificate")).toBeUndefined();
  });

  test("passes if it is the key's and does not expire soon", async () => {
    const { code, finding } = await examineCertificate("localhost.pem", "localhost.key");
    expect(code).toBe(0);
    expect(finding).toMatchObject({ outcome: "ok" });
    expect(finding?.message).toEndWith("localhost.pem is valid until 2126-10-22T04:49:13.000Z");
  });

  test("is a warning if it expires within 30 days", async () => {
    using _ = spyOn(Date, "now").mockReturnValue(expiresAtMs - 29 * dayMs);
    const { code, finding } = await examineCertificate("localhost.pem", "localhost.key");
    expect(code).toBe(0);
    expect(finding).toMatchObject({ outcome: "warn", advice: expect.stringContaining("Renew it") });
  });

  test("fails if it has expired", async () => {
    using _ = spyOn(Date, "now").mockReturnValue(expiresAtMs + 1);
    const { code, finding } = await examineCertificate("localhost.pem", "localhost.key");
    expect(code).toBe(1);
    expect(finding).toMatchObject({ outcome: "fail", message: expect.stringContaining("expired on 2126") });
  });

  test("fails if the key belongs to another", async () => {
    const { code, finding } = await examineCertificate("localhost.pem", "client.key");
    expect(code).toBe(1);
    expect(finding).toMatchObject({
      outcome: "fail",
      message: expect.stringContaining("does not belong to"),
    });
  });
});

test("an address that another program has fails, with what to do", async () => {
  const [listen = ""] = service.service.addresses;
  const { code, find } = await examine("--database", join(folder.path, "none.db"), "--listen", listen);
  const message = `${listen} is in use, and no service has this data file open`;
  const advice = "Free the address, or choose another with --listen.";
  expect([code, find("public listener")]).toMatchObject([1, { outcome: "fail", message, advice }]);
});

test("a PostgreSQL server that is unsafe, lacks privileges or cannot be reached fails", async () => {
  await using server = await usePostgres();
  const database = await server.newDatabase();
  const examineDatabase = async (...args: readonly string[]) => {
    const { code, find } = await examine("--database", ...args);
    return [code, find("database")?.message];
  };
  const fresh = /^PostgreSQL [\d.]+\w* accepts writes and has no tables yet; the first start/;
  expect(await examineDatabase(database)).toEqual([0, expect.stringMatching(fresh)]);
  await runInProcess(["token", "create", "--name", "a", "--database", database]);
  expect(await examineDatabase(database)).toEqual([0, expect.stringContaining("has the tables; the role")]);

  const guest = `guest_${crypto.randomUUID().slice(0, 8)}`;
  await server.run(`CREATE ROLE ${guest} LOGIN`, database);
  await server.run(`GRANT SELECT ON ALL TABLES IN SCHEMA public TO ${guest}`, database);
  const lacking = expect.stringContaining(`role ${guest} lacks INSERT on the table plants`);
  expect(await examineDatabase(database.replace("postgres@", `${guest}@`))).toEqual([1, lacking]);

  const name = new URL(database).pathname.slice(1);
  await server.run(`ALTER DATABASE ${name} SET synchronous_commit = off`, database);
  expect(await examineDatabase(database)).toEqual([1, expect.stringContaining("has synchronous_commit=off")]);
  expect((await examineDatabase(database, "--allow-unsafe-database", "yes"))[0]).toBe(0);

  const gone = await examine("--database", "postgres://postgres:not-shown@127.0.0.1:1/plants");
  expect([gone.code, gone.find("database")]).toMatchObject([1, { outcome: "fail" }]);
  expect(gone.find("public listener")).toMatchObject({ outcome: "ok" });
  expect(JSON.stringify(gone.find("database"))).not.toContain("not-shown");
});
