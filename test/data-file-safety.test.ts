import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { constants, userInfo } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { plantStore, type Serving, serve } from "./command.ts";
import {
  accessToken,
  eventually,
  operatorToken,
  post,
  startTestService,
  storedPlants,
  temporaryFolder,
} from "./harness.ts";
import { runInProcess } from "./terminal.ts";

const environment = { PLANT_STORE_ACCESS_TOKEN: accessToken };
const start = (file: string, more: readonly string[] = []): Promise<Serving> =>
  serve(["--database", file, ...more], { environment });
const create = async (url: string, id: number, name = "fern") =>
  (await post(url, JSON.stringify({ id, name }))).status;

/** Creates a data file with its WAL, as kill -9 leaves them, with one transaction for each plant. */
async function crashed(file: string, plants: number): Promise<void> {
  await using service = await start(file);
  for (let id = 1; id <= plants; id++) expect(await create(service.url, id)).toBe(200);
  service.child.kill("SIGKILL");
  await service.ended();
}

async function refusedStart(file: string): Promise<string> {
  const { code, err, out } = await runInProcess(["serve", "--listen", "127.0.0.1:0", "--database", file], {
    environment,
  });
  expect([code, out]).toEqual([1, ""]);
  expect(err).not.toContain("    at ");
  expect(err.trim().split("\n")).toHaveLength(1);
  return err;
}

/** The commands that the log has, ready for a shell; empty until they are logged. */
function commandsIn(log: string): string {
  return JSON.parse(`"${/"plant_store\.commands":"([^"]+)"/.exec(log)?.[1] ?? ""}"`);
}

/** Runs them as logged, and returns the path of the copy, which is beside the data file. */
function runCommands(log: string, file: string): string {
  const ran = spawnSync("sh", ["-c", commandsIn(log)], { encoding: "utf8" });
  expect([ran.status, ran.stderr]).toEqual([0, ""]);
  const copies = readdirSync(dirname(file))
    .filter((name) => name.includes(".rescued-"))
    .sort();
  expect(copies).toEqual([copies[0] ?? "", `${copies[0]}-wal`]);
  return join(dirname(file), copies[0] ?? "");
}

const sentence = (file: string) =>
  `plant-store: ${file} or its WAL was deleted, replaced or overwritten while the service ran: run \`plant-store restore\` with the copy that its log says how to make, or with a backup; or, to use the file that is there now, first move ${file}-wal and ${file}-shm away, and only then delete ${file}.failure.json.\n`;

async function stop(service: Serving): Promise<number | null> {
  service.child.kill("SIGTERM");
  return (await service.ended()).code;
}

function bytesOf(folder: string): Record<string, string> {
  return Object.fromEntries(
    readdirSync(folder).map((name) => [name, readFileSync(join(folder, name), "hex")]),
  );
}

describe("one data file has one writer", () => {
  test("so a second serve, copy --to or restore is refused; token and read commands work", async () => {
    using folder = temporaryFolder();
    const file = join(folder.path, "plants.db");
    await using service = await start(file);
    await create(service.url, 1);
    expect(await refusedStart(file)).toContain("is in use: another plant-store process writes to it");
    const other = join(folder.path, "other.db");
    expect((await runInProcess(["backup", other, "--database", file])).code).toBe(0);
    for (const args of [
      ["copy", "--from", other, "--to", file],
      ["restore", other, "--database", file],
    ]) {
      const { code, err } = await runInProcess(args);
      expect([args[0], code]).toEqual([args[0], 1]);
      expect(err).toMatch(/is in use|exists already/);
    }
    expect((await runInProcess(["token", "create", "--name", "a", "--database", file])).code).toBe(0);
    expect((await runInProcess(["token", "list", "--database", file])).out).toContain("a");
    expect((await runInProcess(["list", "--database", file])).out).toContain("fern");
    expect(await create(service.url, 2)).toBe(200);
  });

  test("also through a symbolic link, until its process exits", async () => {
    using folder = temporaryFolder();
    const [file, link] = [join(folder.path, "plants.db"), join(folder.path, "link.db")];
    await using service = await start(file);
    symlinkSync(file, link);
    expect(await refusedStart(link)).toContain("is in use");
    service.child.kill("SIGKILL");
    await service.ended();
    await using again = await start(link);
    expect(await create(again.url, 1)).toBe(200);
  });

  test("a restore is refused while another process holds the lock of a file that does not exist yet", async () => {
    using folder = temporaryFolder();
    const file = join(folder.path, "plants.db");
    const backup = join(folder.path, "backup.db");
    {
      await using service = await start(file);
      expect((await runInProcess(["backup", backup, "--database", file])).code).toBe(0);
      await create(service.url, 1);
    }
    const other = join(folder.path, "other.db");
    using holder = new Database(`${other}.lock`);
    holder.run("BEGIN EXCLUSIVE");
    expect((await plantStore(["restore", backup, "--database", other])).err).toContain("is in use");
    holder.run("ROLLBACK");
    expect((await runInProcess(["restore", backup, "--database", other])).code).toBe(0);
  });
});

// Elsewhere there is no /proc, and a backup has to be restored.
describe.skipIf(process.platform !== "linux")("a data file that is lost while the service runs", () => {
  const otherFile = (path: string) => new Database(path).run("CREATE TABLE t (x)");
  test.each([
    ["deleted", (file: string) => rmSync(file)],
    ["renamed", (file: string) => renameSync(file, `${file}.elsewhere`)],
    ["replaced", (file: string, other: string) => renameSync(other, file)],
    ["deleted with its WAL", (file: string) => ["", "-wal", "-shm"].map((end) => rmSync(file + end))],
    ["deleted with its folder", (file: string) => rmSync(dirname(file), { recursive: true })],
    ["whose WAL alone is deleted", (file: string) => rmSync(`${file}-wal`)],
    ["whose WAL alone is replaced", (file: string, other: string) => renameSync(other, `${file}-wal`)],
  ])("(%s) is copied from the process by the commands in the log, and restored", async (_, lose) => {
    using folder = temporaryFolder();
    const file = join(folder.path, "it's data", "plants.db");
    const other = join(folder.path, "other.db");
    otherFile(other);
    await using service = await start(file);
    for (let id = 1; id <= 50; id++) expect(await create(service.url, id)).toBe(200);
    const acknowledged: number[] = [];
    const load = Array.from({ length: 4 }, async (_, client) => {
      for (let id = 1000 * (client + 1); ; id++) {
        const response = await post(service.url, JSON.stringify({ id, name: "under load" }));
        if (response.status !== 200) return ((await response.json()) as { error: number }).error;
        acknowledged.push(id);
      }
    });
    await eventually(() => acknowledged.length > 20);
    lose(file, other);
    expect(await Promise.all(load)).toEqual([50302, 50302, 50302, 50302]);

    // It stays up, unready, for as long as it takes someone to act.
    await eventually(() => commandsIn(service.err()) !== "");
    expect((await fetch(`${service.url}/readyz`)).status).toBe(503);
    expect((await fetch(`${service.url}/livez`)).status).toBe(200);
    const copy = runCommands(service.err(), file);
    expect(service.child.exitCode).toBeNull();
    expect(await stop(service)).toBe(1);
    expect(service.err()).not.toContain("every acknowledged plant is on disk");

    const wal = existsSync(`${file}-wal`) ? readFileSync(`${file}-wal`) : undefined;
    expect(await refusedStart(file)).toBe(sentence(file));
    rmSync(file, { force: true });
    expect(await runInProcess(["restore", copy, "--database", file])).toMatchObject({ code: 0 });
    if (wal !== undefined) expect(readFileSync(`${file}-wal.left-behind`).equals(wal)).toBe(true);
    await using again = await start(file);
    const stored = new Set(storedPlants(file).map(({ id }) => Number(id)));
    for (let id = 1; id <= 50; id++) acknowledged.push(id);
    expect(acknowledged.filter((id) => !stored.has(id))).toEqual([]);
    expect((await post(again.url, '{"id":1,"name":"fern"}')).headers.get("idempotent-replayed")).toBe("true");
  });

  test("leaves its replacement unchanged, which may be used once the old WAL and then the marker are gone", async () => {
    using folder = temporaryFolder();
    const [file, other] = [join(folder.path, "plants.db"), join(folder.path, "other.db")];
    const second = await start(other);
    for (let id = 1; id <= 30; id++) await create(second.url, id, "of the other file");
    expect(await stop(second)).toBe(0);
    const bytes = readFileSync(other);
    await using service = await start(file);
    for (let id = 1; id <= 5; id++) await create(service.url, id);
    renameSync(other, file);
    await eventually(() => commandsIn(service.err()) !== "");
    // No command applies the old WAL to it, or writes to that, while the service is up or later.
    const refused = async () => {
      for (const args of [["list"], ["verify"], ["token", "create", "--name", "x"]])
        expect(await runInProcess([...args, "--database", file])).toMatchObject({
          code: 1,
          err: sentence(file),
        });
    };
    await refused();
    expect(await stop(service)).toBe(1);
    await refused();
    expect(await refusedStart(file)).toBe(sentence(file));
    expect(readFileSync(file).equals(bytes)).toBe(true);
    for (const end of ["-wal", "-shm"]) renameSync(file + end, `${file}.old${end}`);
    rmSync(`${file}.failure.json`);
    await using again = await start(file);
    expect(storedPlants(file).map(({ name }) => name)).toEqual(Array(30).fill("of the other file"));
    expect(await create(again.url, 31)).toBe(200);
  });

  test("does not acknowledge a plant that waits for another process's lock", async () => {
    using folder = temporaryFolder();
    const file = join(folder.path, "plants.db");
    await using service = await start(file);
    await create(service.url, 1);
    const other = new Database(file);
    other.run("BEGIN IMMEDIATE");
    const waiting = create(service.url, 2);
    rmSync(file);
    await eventually(() => commandsIn(service.err()) !== "");
    other.run("ROLLBACK");
    expect(await waiting).toBe(503);
    expect(storedPlants(runCommands(service.err(), file)).map(({ id }) => id)).toEqual([1n]);
    other.close();
  });

  test("keeps the process alive if it was told to stop before, until a second signal", async () => {
    using folder = temporaryFolder();
    const file = join(folder.path, "plants.db");
    await using service = await start(file, ["--drain-delay", "1s"]);
    await create(service.url, 1);
    service.child.kill("SIGTERM");
    await eventually(() => service.err().includes("stopping: finishing requests"));
    rmSync(file);
    await eventually(() => commandsIn(service.err()) !== "");
    // Its listeners are closed: nothing but the lost files is left.
    await eventually(() =>
      fetch(`${service.url}/livez`).then(
        () => false,
        () => true,
      ),
    );
    const copy = runCommands(service.err(), file);
    expect(service.child.exitCode).toBeNull();
    await eventually(() => !service.child.kill("SIGTERM"));
    expect((await service.ended()).code).toBe(128 + constants.signals.SIGTERM);
    expect(storedPlants(copy)).toHaveLength(1);
  });

  test("is reported in the log if the failure marker cannot be written", async () => {
    using folder = temporaryFolder();
    const data = join(folder.path, "data");
    await using service = await start(join(data, "plants.db"));
    await create(service.url, 1);
    rmSync(data, { recursive: true });
    writeFileSync(data, "in the way");
    await eventually(() => commandsIn(service.err()) !== "");
    expect(service.err()).toContain("the failure marker could not be written");
    expect(await create(service.url, 2)).toBe(503);
    const commands = commandsIn(service.err()).replaceAll(`${data}/`, `${folder.path}/`);
    expect(spawnSync("sh", ["-c", commands]).status).toBe(0);
  });
});

describe("a data file that is overwritten while the service runs", () => {
  test.each([
    ["by a backup", (file: string, backup: string) => copyFileSync(backup, file)],
    ["by a truncation", (file: string) => truncateSync(file, 100)],
    ["by a truncation of its WAL", (file: string) => truncateSync(`${file}-wal`, 0)],
  ])(
    "(%s) is noticed, no checkpoint follows, and the log names the backup to restore",
    async (_, overwrite) => {
      using folder = temporaryFolder();
      const [file, backup] = [join(folder.path, "plants.db"), join(folder.path, "backup.db")];
      await using service = await start(file);
      for (let id = 1; id <= 20; id++) expect(await create(service.url, id)).toBe(200);
      expect((await plantStore(["backup", backup, "--database", file])).code).toBe(0);
      const load = Array.from({ length: 4 }, async (_, client) => {
        for (let id = 1000 * (client + 1); ; id++) {
          const response = await post(service.url, JSON.stringify({ id, name: "under load" }));
          if (response.status !== 200) return ((await response.json()) as { error: number }).error;
        }
      });
      overwrite(file, backup);
      expect(await Promise.all(load)).toEqual([50302, 50302, 50302, 50302]);
      await eventually(() =>
        service.err().includes("was overwritten; stop the service, and restore the last backup"),
      );
      const [sha256 = "missing"] = readFileSync(`${backup}.sha256`, "utf8").split(" ");
      expect(service.err()).toContain(`"plant_store.last_backup_sha256":"${sha256}"`);
      expect(service.err()).not.toContain("/proc/");
      expect((await fetch(`${service.url}/readyz`)).status).toBe(503);
      const before = readFileSync(file);
      expect(await stop(service)).toBe(1);
      expect(service.err()).not.toContain("every acknowledged plant is on disk");
      expect(readFileSync(file).equals(before)).toBe(true);
      expect(await refusedStart(file)).toBe(sentence(file));
    },
  );

  test("is not one that others checkpoint: a reader every moment, sqlite3, and a token command", async () => {
    using folder = temporaryFolder();
    const file = join(folder.path, "plants.db");
    await using running = await startTestService({}, file);
    let [id, stopping] = [0, false];
    const load = Array.from({ length: 4 }, async () => {
      while (!stopping) expect(await create(running.url, id++, "x".repeat(5000))).toBe(200);
    });
    using reader = new Database(file);
    using sqlite3 = new Database(file);
    for (const mode of ["PASSIVE", "RESTART", "TRUNCATE", "PASSIVE", "TRUNCATE"]) {
      reader.run("BEGIN");
      reader.query("SELECT count(*) FROM plants").get();
      const before = id;
      await eventually(() => id > before + 50);
      reader.run("ROLLBACK");
      sqlite3.query(`PRAGMA wal_checkpoint(${mode})`).get();
      const args = ["token", "create", "--name", `during ${before}`, "--database", file];
      expect((await plantStore(args)).code).toBe(0);
    }
    stopping = true;
    await Promise.all(load);
    expect((await fetch(`${running.url}/readyz`)).status).toBe(200);
    await running.service.close("test");
    expect(running.logged.join("")).toContain("every acknowledged plant is on disk");
    expect(storedPlants(file)).toHaveLength(id);
  });
});

describe("a symbolic link", () => {
  test("is resolved, so the WAL of its target is checked", async () => {
    using folder = temporaryFolder();
    const [file, link] = [join(folder.path, "plants.db"), join(folder.path, "link.db")];
    await crashed(file, 40);
    symlinkSync(file, link);
    const wal = readFileSync(`${file}-wal`);
    const flipped = Buffer.from(wal);
    flipped[wal.length / 2] = (flipped[wal.length / 2] ?? 0) ^ 1;
    writeFileSync(`${file}-wal`, flipped);
    for (const args of [["list"], ["token", "list"], ["verify"]]) {
      const { code, err } = await runInProcess([...args, "--database", link]);
      expect([args[0], code, err]).toEqual([args[0], 1, expect.stringContaining("is damaged at frame")]);
    }
    expect(await refusedStart(link)).toContain("is damaged at frame");
    writeFileSync(`${file}-wal`, wal);
    rmSync(file);
    expect(await refusedStart(link)).toContain("is missing or empty");
    expect(readFileSync(`${file}-wal`)).toEqual(wal);
  });
});

describe("at the start", () => {
  test.each([
    ["missing", (file: string) => rmSync(file)],
    ["empty", (file: string) => truncateSync(file, 0)],
  ])("a WAL whose data file is %s is refused and left unchanged", async (_, lose) => {
    using folder = temporaryFolder();
    const file = join(folder.path, "plants.db");
    await crashed(file, 5);
    lose(file);
    const before = bytesOf(folder.path);
    expect(await refusedStart(file)).toContain("is missing or empty");
    for (const args of [["token", "create", "--name", "a"], ["list"], ["verify"]])
      expect((await runInProcess([...args, "--database", file])).code).toBe(1);
    expect(bytesOf(folder.path)).toEqual(before);
  });

  test("a WAL with a flipped bit is refused by every command, and no file changes", async () => {
    using folder = temporaryFolder();
    const file = join(folder.path, "plants.db");
    await crashed(file, 40);
    const wal = readFileSync(`${file}-wal`);
    wal[Math.floor(wal.length / 2)] = (wal[Math.floor(wal.length / 2)] ?? 0) ^ 1;
    writeFileSync(`${file}-wal`, wal);
    const before = bytesOf(folder.path);
    expect(await refusedStart(file)).toMatch(/is damaged at frame \d+/);
    for (const args of [
      ["token", "create", "--name", "a"],
      ["token", "list"],
      ["list"],
      ["export"],
      ["backup", join(folder.path, "backup.db")],
      ["verify"],
    ]) {
      const { code, err } = await runInProcess([...args, "--database", file]);
      expect([args[0], code, err]).toEqual([args[0], 1, expect.stringContaining("damaged")]);
    }
    expect(bytesOf(folder.path)).toEqual(before);
  });

  test("a torn last transaction is normal after a crash", async () => {
    using folder = temporaryFolder();
    const file = join(folder.path, "plants.db");
    await crashed(file, 40);
    const wal = readFileSync(`${file}-wal`);
    wal.fill(0, wal.length - 2000);
    writeFileSync(`${file}-wal`, wal);
    await using service = await start(file);
    expect(storedPlants(file)).toHaveLength(39);
    expect(await create(service.url, 40)).toBe(200);
  });

  test("a truncated data file is refused as damaged", async () => {
    using folder = temporaryFolder();
    const file = join(folder.path, "plants.db");
    const service = await start(file);
    for (let id = 1; id <= 50; id++) await create(service.url, id, "x".repeat(5000));
    service.child.kill("SIGTERM");
    await service.ended();
    truncateSync(file, 65_536);
    expect(await refusedStart(file)).toContain("is damaged");
  });

  test.each([
    // The id in the table differs from the one in the index.
    ["whose index points to another plant", (bytes: Buffer, name: number) => (bytes[name - 1] = 0x7f)],
    ["with a page of zeros", (bytes: Buffer, name: number) => bytes.fill(0, name - (name % 4096), name)],
  ])("a data file %s at its end is refused as damaged", async (_, harm) => {
    using folder = temporaryFolder();
    const file = join(folder.path, "plants.db");
    const service = await start(file);
    await create(service.url, 1);
    await post(service.url, '{"id":72623859790382856,"name":"the last plant"}');
    service.child.kill("SIGTERM");
    await service.ended();
    const bytes = readFileSync(file);
    harm(bytes, bytes.lastIndexOf("the last plant"));
    writeFileSync(file, bytes);
    expect(await refusedStart(file)).toContain("is damaged");
  });

  test("a long-running reader does not prevent the start, and what stays in the WAL is durable", async () => {
    using folder = temporaryFolder();
    const file = join(folder.path, "plants.db");
    await crashed(file, 10);
    using reader = new Database(file);
    reader.run("BEGIN");
    reader.query("SELECT count(*) FROM plants").get();
    await using service = await start(file);
    expect(service.err()).toContain("another process has the data file open");
    expect((await post(service.url, '{"id":1,"name":"fern"}')).headers.get("idempotent-replayed")).toBe(
      "true",
    );
    expect(await create(service.url, 11)).toBe(200);
    // As after a second crash: the data file and the WAL, without the -shm that the reader holds.
    const copy = join(folder.path, "copy.db");
    for (const end of ["", "-wal"]) copyFileSync(file + end, copy + end);
    await using again = await start(copy);
    expect(await create(again.url, 12)).toBe(200);
    expect(storedPlants(copy)).toHaveLength(12);
  });
});

test.skipIf(userInfo().uid !== 0)(
  "a read-only lock file is refused, and not mistaken for a held lock",
  async () => {
    using folder = temporaryFolder();
    const file = join(folder.path, "plants.db");
    writeFileSync(`${file}.lock`, "", { mode: 0o444 });
    chmodSync(folder.path, 0o777);
    const asNobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
    const main = fileURLToPath(new URL("../src/main.ts", import.meta.url));
    const ran = spawnSync(
      asNobody[0] ?? "",
      [...asNobody.slice(1), process.execPath, main, "serve", "--listen", "127.0.0.1:0", "--database", file],
      { encoding: "utf8", timeout: 10_000, env: { PATH: process.env["PATH"], ...environment } },
    );
    expect([ran.status, ran.stderr]).toEqual([1, expect.stringContaining("permission denied")]);
    expect(ran.stderr.trim().split("\n")).toHaveLength(1);
  },
);

test("no plant waits longer than five seconds for another process's write lock, however many wait", async () => {
  await using running = await startTestService();
  using other = new Database(running.database);
  other.run("BEGIN IMMEDIATE");
  const startMs = performance.now();
  const answers: Promise<number>[] = [];
  for (let id = 1; id <= 20; id++) {
    answers.push(create(running.url, id));
    await Bun.sleep(200);
  }
  expect(new Set(await Promise.all(answers))).toEqual(new Set([503]));
  expect(performance.now() - startMs).toBeLessThan(6500);
  other.run("ROLLBACK");
  expect(await create(running.url, 1)).toBe(200);
});

test("the size of the WAL is in the metrics and the overview", async () => {
  await using running = await startTestService();
  await create(running.url, 1);
  const ask = async (path: string) =>
    (
      await fetch(`${running.operatorUrl}${path}`, { headers: { Authorization: `Bearer ${operatorToken}` } })
    ).text();
  expect(await ask("/metrics")).toMatch(/^plant_store_wal_bytes [1-9]\d*$/m);
  expect(JSON.parse(await ask("/api/overview")).store.walBytes).toBeGreaterThan(0);
});

test("the lock file stays, and is empty", async () => {
  using folder = temporaryFolder();
  const file = join(folder.path, "plants.db");
  const service = await start(file);
  service.child.kill("SIGTERM");
  await service.ended();
  expect(existsSync(`${file}.lock`)).toBe(true);
  expect(readFileSync(`${file}.lock`)).toHaveLength(0);
});
