import { Database } from "bun:sqlite";
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import {
  copyFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { constants } from "node:os";
import { dirname, join } from "node:path";
import { verify } from "../src/storage/sqlite/maintenance/verify.ts";
import { SqliteStore } from "../src/storage/sqlite/sqlite-store.ts";
import { serve } from "./command.ts";
import { crashedStore } from "./crashed-store.ts";
import {
  accessToken,
  createUntilRefused,
  eventually,
  missingIn,
  operatorToken,
  post,
  startTestService,
  storedPlants,
  temporaryFolder,
} from "./harness.ts";
import { lacks } from "./lacks.ts";
import { runInProcess } from "./terminal.ts";

const environment = { PLANT_STORE_ACCESS_TOKEN: accessToken };

let folder: string;
let file: string;
beforeEach(() => {
  folder = temporaryFolder().path;
  file = join(folder, "plants.db");
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const create = async (url: string, id: number, name = "fern") =>
  (await post(url, JSON.stringify({ id, name }))).status;

async function refusedStart(file: string): Promise<string> {
  const { code, err, out } = await runInProcess(["serve", "--database", file], { environment });
  expect([code, out]).toEqual([1, ""]);
  expect(err).not.toContain("    at ");
  expect(err.trim().split("\n")).toHaveLength(1);
  return err;
}

const lostInLog = "the data file was lost";

/** Copies both files from the process that still has them open, as docs/operating.md says, and returns the path of the copy. */
function copyFrom(process: number, file: string): string {
  const open = readdirSync(`/proc/${process}/fd`).flatMap((number) => {
    const path = `/proc/${process}/fd/${number}`;
    // The one that lists them is closed by now.
    return existsSync(path) ? [{ path, to: readlinkSync(path) }] : [];
  });
  const copy = join(folder, "rescued.db");
  for (const [end, names] of [
    ["", [`${file} (deleted)`, file]],
    ["-wal", [`${file}-wal (deleted)`, `${file}-wal`]],
  ] as const) {
    const [path = "none"] = names.flatMap((name) => open.find(({ to }) => to === name)?.path ?? []);
    copyFileSync(path, copy + end);
  }
  return copy;
}

const replaced = "was deleted, replaced or overwritten while the service ran: run `plant-store restore`";

test("one data file has one writer: a second serve, copy --to or restore is refused; token and read commands work", async () => {
  const [link, other] = [join(folder, "link.db"), join(folder, "other.db")];
  await using running = await startTestService({}, file);
  await create(running.url, 1);
  symlinkSync(file, link);
  for (const path of [file, link])
    expect(await refusedStart(path)).toContain("is in use: another plant-store process writes to it");
  expect((await runInProcess(["backup", other, "--database", file])).code).toBe(0);
  // Also while another process holds the lock of a file that does not exist yet.
  const missing = join(folder, "missing.db");
  using holder = new Database(`${missing}.lock`);
  holder.run("BEGIN EXCLUSIVE");
  for (const args of [
    ["copy", "--from", other, "--to", file],
    ["restore", other, "--database", file],
    ["restore", other, "--database", missing],
  ])
    expect(await runInProcess(args)).toMatchObject({
      code: 1,
      err: expect.stringMatching(/is in use|exists already/),
    });
  holder.run("ROLLBACK");
  expect((await runInProcess(["restore", other, "--database", missing])).code).toBe(0);
  expect((await runInProcess(["token", "create", "--name", "a", "--database", file])).code).toBe(0);
  expect((await runInProcess(["token", "list", "--database", file])).out).toContain("a");
  expect((await runInProcess(["list", "--database", file])).out).toContain("fern");
  expect(await create(running.url, 2)).toBe(200);
  const headers = { Authorization: `Bearer ${operatorToken}` };
  const metrics = await fetch(`${running.operatorUrl}/metrics`, { headers });
  expect(await metrics.text()).toMatch(/^plant_store_wal_bytes [1-9]/m);
  await running.service.close("test", 0);
  expect(readFileSync(`${file}.lock`)).toHaveLength(0);
});

// Elsewhere there is no /proc, and a backup has to be restored.
const noProc = lacks("/proc", process.platform !== "linux");

describe.skipIf(noProc)("a data file that is lost while the service runs", () => {
  test.each([
    ["deleted", (file: string) => rmSync(file)],
    ["deleted with its folder", (file: string) => rmSync(dirname(file), { recursive: true })],
    ["whose WAL alone is deleted", (file: string) => rmSync(`${file}-wal`)],
    ["whose WAL alone is replaced", (file: string, other: string) => renameSync(other, `${file}-wal`)],
  ])("(%s) is copied from the process, and restored", async (_, lose) => {
    file = join(folder, "it's data", "plants.db");
    const other = join(folder, "other.db");
    new Database(other).run("CREATE TABLE t (x)");
    const running = await startTestService({}, file);
    const log = () => running.logged.join("");
    const { acknowledged, refusals } = createUntilRefused(running.url, "under load");
    await eventually(() => acknowledged.length > 20);
    lose(file, other);
    expect(await refusals).toEqual([50302, 50302, 50302, 50302]);
    await eventually(() => log().includes(lostInLog));
    expect((await fetch(`${running.url}/readyz`)).status).toBe(503);
    expect((await fetch(`${running.url}/livez`)).status).toBe(200);
    const restored = join(folder, "restored.db");
    const copy = copyFrom(process.pid, file);
    expect(await runInProcess(["restore", copy, "--database", restored])).toMatchObject({ code: 0 });
    expect(missingIn(restored, acknowledged)).toEqual([]);
    await running[Symbol.asyncDispose]();
  });

  test("(replaced) leaves its replacement unchanged, and every command is refused until a restore", async () => {
    const other = join(folder, "other.db");
    await crashedStore(other, { plants: 3, checkpointed: 3 });
    const bytes = readFileSync(other);
    await using service = await serve(["--database", file], { environment });
    const { acknowledged, refusals } = createUntilRefused(service.url, "under load");
    await eventually(() => acknowledged.length > 20);
    renameSync(other, file);
    expect(await refusals).toEqual([50302, 50302, 50302, 50302]);
    await eventually(() => service.err().includes(lostInLog));
    // No command applies the old WAL to it, or writes to that, while the service is up or later.
    const refused = async () => {
      for (const args of [["list"], ["verify"], ["token", "create", "--name", "x"]])
        expect(await runInProcess([...args, "--database", file])).toMatchObject({
          code: 1,
          err: expect.stringContaining(replaced),
        });
    };
    await refused();
    const copy = copyFrom(service.child.pid ?? 0, file);
    expect(service.child.exitCode).toBeNull();
    service.child.kill("SIGTERM");
    expect((await service.ended()).code).toBe(1);
    expect(service.err()).not.toContain("every acknowledged plant is on disk");
    await refused();
    expect(await refusedStart(file)).toContain(replaced);
    expect(readFileSync(file).equals(bytes)).toBe(true);

    for (const end of ["", "-wal"]) renameSync(file + end, `${file}.away${end}`);
    expect(await runInProcess(["restore", copy, "--database", file])).toMatchObject({ code: 0 });
    await using again = await startTestService({}, file);
    expect(missingIn(file, acknowledged)).toEqual([]);
    expect(await create(again.url, 1)).toBe(200);
  });

  test("keeps the process alive if it was told to stop before, until a second signal", async () => {
    await using service = await serve(["--database", file, "--drain-delay", "1s"], { environment });
    await create(service.url, 1);
    service.child.kill("SIGTERM");
    await eventually(() => service.err().includes("stopping: finishing requests"));
    rmSync(file);
    await eventually(() => service.err().includes(lostInLog));
    // Its listeners are closed: nothing but the lost files is left.
    await eventually(() =>
      fetch(`${service.url}/livez`).then(
        () => false,
        () => true,
      ),
    );
    const copy = copyFrom(service.child.pid ?? 0, file);
    expect(service.child.exitCode).toBeNull();
    await eventually(() => !service.child.kill("SIGTERM"));
    expect((await service.ended()).code).toBe(128 + constants.signals.SIGTERM);
    expect(storedPlants(copy)).toHaveLength(1);
  });

  test("is reported in the log if the failure marker cannot be written", async () => {
    const data = join(folder, "data");
    await using running = await startTestService({}, join(data, "plants.db"));
    rmSync(data, { recursive: true });
    writeFileSync(data, "in the way");
    await eventually(() => running.logged.join("").includes(lostInLog));
    expect(running.logged.join("")).toContain("the failure marker could not be written");
    expect(await create(running.url, 2)).toBe(503);
  });
});

// The unit test of DataFileWatch overwrites both files in every other way.
test("a data file that a backup is copied over while the service runs is noticed, and no checkpoint follows", async () => {
  const backup = join(folder, "backup.db");
  const running = await startTestService({}, file);
  const log = () => running.logged.join("");
  for (let id = 1; id <= 20; id++) expect(await create(running.url, id)).toBe(200);
  expect((await runInProcess(["backup", backup, "--database", file])).code).toBe(0);
  const { refusals } = createUntilRefused(running.url, "under load");
  copyFileSync(backup, file);
  expect(await refusals).toEqual([50302, 50302, 50302, 50302]);
  await eventually(() => log().includes("The data file was overwritten while it was open."));
  expect((await fetch(`${running.url}/readyz`)).status).toBe(503);
  const before = readFileSync(file);
  await running[Symbol.asyncDispose]();
  expect(log()).not.toContain("every acknowledged plant is on disk");
  expect(readFileSync(file).equals(before)).toBe(true);
  expect((await runInProcess(["list", "--database", file])).err).toContain(replaced);
});

test("nothing is lost while another program copies the WAL, as Litestream does, and the WAL restarts only where that checkpoints", async () => {
  // Past the 4000 frames at which the service checkpoints too.
  const [batches, batch, name] = [12, 25, "Fern ".repeat(12_000)];
  const salts = () => readFileSync(`${file}-wal`).toString("hex", 16, 24);
  let stored = 0;
  const fill = async (store: SqliteStore) => {
    for (let count = 0; count < batches; count++) {
      const ids = Array.from({ length: batch }, () => BigInt(++stored));
      const arrivals = ids.map((id) => ({ plant: { id, name, tag: undefined }, createdBy: "test" }));
      const outcomes = await store.plants.create(arrivals, 1);
      expect(new Set(outcomes)).toEqual(new Set([{ kind: "created" }]));
    }
  };
  let store = new SqliteStore(file);
  using reader = new Database(file);
  using other = new Database(file);
  using checkpointer = new Database(file);
  const hold = () => {
    reader.run("BEGIN");
    reader.query("SELECT count(*) FROM plants").get();
  };
  other.run("CREATE TABLE others_own (checkpoints INTEGER)");
  hold();
  for (const round of [1, 2]) {
    const before = salts();
    await fill(store);
    await store[Symbol.asyncDispose]();
    store = new SqliteStore(file);
    await fill(store);
    expect(salts()).toBe(before);
    // It ends its transaction only to checkpoint, under the write lock.
    other.run("BEGIN IMMEDIATE");
    reader.run("ROLLBACK");
    await eventually(() => checkpointer.query("PRAGMA wal_checkpoint(PASSIVE)").values()[0]?.[0] === 0);
    hold();
    other.run("ROLLBACK");
    // The first write after a complete checkpoint restarts the WAL.
    other.run("INSERT INTO others_own VALUES (?)", [round]);
    expect(salts()).not.toBe(before);
  }
  await store[Symbol.asyncDispose]();
  expect(await verify(file)).toMatchObject({ plants: stored, problems: [] });
});
