// What doctor checks of a store, a disk, a certificate and a server, and what it advises.
import { afterAll, describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { judgeFsync } from "../../src/cli/doctor.ts";
import { whyFailureUnrecorded } from "../../src/storage/sqlite/data-file/failure-marker.ts";
import { dayMs } from "../../src/text/duration.ts";
import { stoppedWallClock } from "../support/clock.ts";
import { unshareArguments } from "../support/command.ts";
import { lacksMounts } from "../support/lacks.ts";
import { usePostgres } from "../support/postgres.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { runInProcess } from "../support/terminal.ts";
import { startTestService } from "../support/test-service.ts";

type Finding = Readonly<Record<"check" | "outcome" | "message" | "advice", string>>;

const freePorts = ["--listen", "127.0.0.1:0", "--operator-listen", "127.0.0.1:0"];
const service = await startTestService();
const folder = temporaryFolder();
afterAll(async () => {
  await service[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

/** Runs doctor; `find` returns what it found in the check of that name. */
async function examine(...args: readonly string[]) {
  const { code, out } = await runInProcess(["doctor", "--json", ...freePorts, ...args]);
  const findings: readonly Finding[] = JSON.parse(out).findings;
  return { code, findings, find: (name: string) => findings.find(({ check }) => check === name) };
}

/** A new store with a token: a data file, or that database. */
async function newStore(database = folder.newPath()): Promise<string> {
  await runInProcess(["token", "create", "--name", "a", "--database", database]);
  return database;
}

test("doctor passes, with one finding for each check of a service without TLS", async () => {
  const [listen = "", operatorListen = ""] = service.addresses;
  const addresses = ["--listen", listen, "--operator-listen", operatorListen];
  const { code, findings } = await examine("--database", service.database, ...addresses);
  const isInUse = expect.stringContaining(": in use, and a service has this data file open");
  expect(code).toBe(0);
  expect(findings).toMatchObject([
    // The machine's disk may be in memory, or slow.
    { check: "folder", message: expect.stringMatching(/ free$/) },
    { check: "fsync", message: expect.stringMatching(/: \d+ fsyncs, median [\d.]+ ms, p99 [\d.]+ ms$/) },
    { check: "data file", outcome: "ok", message: expect.stringContaining("a service has it open") },
    { check: "public listener", outcome: "ok", message: isInUse },
    { check: "operator listener", outcome: "ok", message: isInUse },
  ]);
});

test("doctor prints one line for each check, and leaves the data file of a stopped service unchanged", async () => {
  const file = await newStore();
  const before = readFileSync(file);
  const { code, out } = await runInProcess(["doctor", "--database", file, ...freePorts]);
  expect(code).toBe(0);
  expect(out).toMatch(/^(?:ok|warn) +folder +\S+: .+ free/);
  expect(out).toContain("no service has it open");
  expect(out.trim().split("\n")).toHaveLength(5);
  expect(readFileSync(file).equals(before)).toBe(true);
});

test("a store need not exist yet, and may be an empty file", async () => {
  const empty = folder.newPath();
  writeFileSync(empty, "");
  expect((await examine("--database", empty)).code).toBe(0);
  const { code, find } = await examine("--database", join(folder.path, "new", "plants.db"));
  expect(code).toBe(0);
  expect(find("folder")?.message).toContain(`${folder.path}: `);
});

test.skipIf(lacksMounts())("a full disk fails, and keeps no file of the probe", () => {
  using mounted = temporaryFolder();
  const fill = "{ dd if=/dev/zero of=filler bs=1k count=2048 2>/dev/null || true; }";
  const examineThere = '{ "$@"; code=$?; ls -A >&2; exit $code; }';
  const script = `mount -t tmpfs -o size=1m none ${mounted.path} && cd ${mounted.path} && ${fill} && ${examineThere}`;
  const doctor = ["doctor", "--json", "--database", join(mounted.path, "plants.db"), ...freePorts];
  const shell = unshareArguments(script, doctor);
  const { status, stdout, stderr } = spawnSync("unshare", shell, { encoding: "utf8" });
  const findings: readonly Finding[] = JSON.parse(stdout).findings;
  expect(status).toBe(1);
  expect(findings.filter(({ outcome }) => outcome === "fail")).toMatchObject([
    { check: "folder", message: expect.stringContaining("0 bytes free: on a full disk") },
    { check: "fsync", message: `${mounted.path}: the disk is full` },
  ]);
  expect(stderr).toBe("filler\n");
});

test.each([
  [1.25, false],
  [0.02, expect.stringContaining("Most devices cannot flush that fast")],
  [40, expect.stringContaining("slow")],
])("a disk whose fsyncs take %p ms has the warning that it deserves", (ms, expected) => {
  const { facts, advice } = judgeFsync(Array(100).fill(ms));
  expect(facts).toBe(`100 fsyncs, median ${ms.toFixed(3)} ms, p99 ${ms.toFixed(3)} ms`);
  expect(advice).toEqual(expected);
});

test("a data file of which an fsync failed is a warning", async () => {
  const file = await newStore();
  whyFailureUnrecorded(file, "sync-failed");
  const { code, out } = await runInProcess(["doctor", "--database", file, ...freePorts]);
  expect(code).toBe(0);
  expect(out).toMatch(/^warn +data file .* no service has it open\. An fsync failed in the previous run\./m);
});

test("a data file that is gone fails if the backup folder has a backup of it", async () => {
  const file = await newStore();
  const backups = folder.newFolder();
  await runInProcess(["backup", backups, "--database", file]);
  for (const gone of [file, `${file}.last-backup.json`]) rmSync(gone);
  const { code, find } = await examine("--database", file, "--backup-folder", backups);
  const message = expect.stringContaining(`${backups}: 1 backup, the newest of `);
  expect(find("backup folder")).toMatchObject({ outcome: "ok", message });
  expect(code).toBe(1);
  expect(find("data file")?.message).toContain("is a backup of it. Is its disk mounted?");
});

const makeForeign = (file: string) =>
  writeFileSync(file, "not a database, but long enough for a header".repeat(9));
const replaceLock = (file: string) => {
  rmSync(`${file}.lock`);
  mkdirSync(`${file}.lock`);
};
test.each([
  ["it is not plant-store's", "list", makeForeign],
  ["its lock file cannot be opened", "token create --name b", replaceLock],
  ["it is gone", "serve", (file: string) => rmSync(file)],
  ["it was overwritten", "list", (file: string) => void whyFailureUnrecorded(file, "overwritten")],
])("a data file alone fails if %s, with the sentence of %s", async (_, line, damage) => {
  const file = await newStore();
  damage(file);
  const { code, findings, find } = await examine("--database", file);
  const other = await runInProcess([...line.split(" "), "--database", file]);
  expect(code).toBe(1);
  expect(findings.filter(({ outcome }) => outcome === "fail")).toEqual([find("data file") as Finding]);
  expect(other.err).toContain(find("data file")?.message ?? "no message");
});

const cert = join(import.meta.dir, "../certificates/localhost.pem");
const valid = `${cert}: valid until 2126-10-22 04:49Z`;
test.each<[leftMs: number, key: string, expected: object]>([
  [31 * dayMs, "localhost.key", { code: 0, outcome: "ok", message: valid }],
  [
    29 * dayMs,
    "localhost.key",
    { outcome: "warn", message: valid, advice: expect.stringContaining("Renew it") },
  ],
  [-1, "localhost.key", { code: 1, message: expect.stringContaining(": expired on 2126") }],
  [31 * dayMs, "client.key", { code: 1, message: expect.stringContaining("does not belong to") }],
])("a certificate %d ms before it expires, with %s, is judged", async (leftMs, key, expected) => {
  using _clock = stoppedWallClock(Date.parse("2126-10-22T04:49:13Z") - leftMs);
  const files = ["--tls-cert", cert, "--tls-key", join(cert, "..", key)];
  const { code, find } = await examine("--database", service.database, ...files);
  expect({ code, ...find("certificate") }).toMatchObject(expected);
});

test("an address that another program has fails, with what to do", async () => {
  const [listen = ""] = service.addresses;
  const { code, find } = await examine("--database", join(folder.path, "none.db"), "--listen", listen);
  expect(code).toBe(1);
  expect(find("public listener")).toMatchObject({
    outcome: "fail",
    message: `${listen}: in use, and no service has this data file open`,
    advice: "Free the address, or choose another with --listen.",
  });
});

describe("a PostgreSQL server", () => {
  test("passes, before and after it has the tables", async () => {
    await using server = await usePostgres();
    const database = await server.newDatabase();
    const before = await examine("--database", database);
    expect(before.code).toBe(0);
    expect(before.find("database")?.message).toMatch(
      /^postgres:\S+: PostgreSQL [\d.]+\w* accepts writes and has no tables yet; the first start/,
    );
    await newStore(database);
    const after = await examine("--database", database);
    expect(after.code).toBe(0);
    expect(after.find("database")?.message).toContain("has the tables; the role");
  });

  test("fails if its role may not create the tables", async () => {
    await using server = await usePostgres();
    const database = await server.newDatabase();
    const role = `visitor_${crypto.randomUUID().slice(0, 8)}`;
    await server.run(`CREATE ROLE ${role} LOGIN; REVOKE CREATE ON SCHEMA public FROM PUBLIC`, database);
    const { code, find } = await examine("--database", database.replace("postgres@", `${role}@`));
    expect(code).toBe(1);
    expect(find("database")?.message).toContain(
      `The database role ${role} lacks CREATE on the schema; grant it`,
    );
  });

  test("that cannot be reached fails alone, named without its password", async () => {
    const { code, find } = await examine("--database", "postgres://postgres:not-shown@127.0.0.1:1/plants");
    expect(code).toBe(1);
    expect(find("database")?.outcome).toBe("fail");
    expect(find("database")?.message).toStartWith("postgres://postgres:***@127.0.0.1:1/plants: ");
    expect(JSON.stringify(find("database"))).not.toContain("not-shown");
    expect(find("public listener")?.outcome).toBe("ok");
  });
});
