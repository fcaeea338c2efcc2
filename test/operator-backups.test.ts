import { Database } from "bun:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { appendFileSync, existsSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { readdir, readlink } from "node:fs/promises";
import { join } from "node:path";
import { BackupFolder, ServiceBackups } from "../src/storage/sqlite/maintenance/backup-folder.ts";
import { plantStore } from "./command.ts";
import {
  eventually,
  operatorToken,
  post,
  startTestService,
  type TestService,
  temporaryFolder,
} from "./harness.ts";
import { lacks } from "./lacks.ts";

interface Listed {
  readonly folder?: string;
  readonly unavailable?: string;
  readonly backups: readonly { readonly name: string; readonly at: string; readonly bytes: number }[];
  readonly task?: object;
  readonly last?: { readonly kind: string; readonly name?: string; readonly problem?: string };
}

const folder = temporaryFolder();
const backupFolder = join(folder.path, "backups");
let running: TestService;

beforeAll(async () => {
  mkdirSync(backupFolder);
  running = await startTestService({ "backup-folder": backupFolder });
  for (let id = 0; id < 3; id++) await post(running.url, `{"id":${id},"name":"Fern"}`);
});
afterAll(async () => {
  await running[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

const headers = { Authorization: `Bearer ${operatorToken}` };

async function call(path: string, method = "GET", operatorUrl = running.operatorUrl) {
  const response = await fetch(`${operatorUrl}/api/backups${path}`, { method, headers });
  const body = (await response.json()) as Listed & { url: string; error?: number; message?: string };
  return { status: response.status, ...body };
}

async function finished(operatorUrl = running.operatorUrl): Promise<Listed> {
  await eventually(async () => (await call("", "GET", operatorUrl)).task === undefined);
  return call("", "GET", operatorUrl);
}

async function audited(): Promise<string[][]> {
  const response = await fetch(`${running.operatorUrl}/api/audit`, { headers });
  const { entries } = (await response.json()) as { entries: { action: string; subject: string }[] };
  return entries.map(({ action, subject }) => [action, subject]);
}

describe("backups through the operator listener", () => {
  test("are made, listed, downloaded once, and restored by the command line", async () => {
    const startedMs = Date.now();
    expect(await call("")).toMatchObject({ folder: backupFolder, backups: [] });
    expect((await call("", "POST")).status).toBe(202);
    const { backups, last } = await finished();
    const [backup] = backups;
    const name = backup?.name ?? "";
    expect(backups).toHaveLength(1);
    expect(last).toMatchObject({ kind: "create", name });
    expect(last?.problem).toBeUndefined();
    expect(Date.parse(backup?.at ?? "")).toBeGreaterThanOrEqual(startedMs);

    const { url } = await call(`/${name}/link`, "POST");
    const first = await fetch(running.operatorUrl + url);
    const bytes = Buffer.from(await first.arrayBuffer());
    expect([first.status, bytes.length]).toEqual([200, backup?.bytes ?? 0]);
    expect(first.headers.get("content-disposition")).toBe(`attachment; filename="${name}"`);
    expect((await fetch(running.operatorUrl + url)).status).toBe(404);
    const copy = join(folder.path, "copy.db");
    writeFileSync(copy, bytes);
    const restored = join(folder.path, "restored.db");
    expect((await plantStore(["restore", copy, "--database", restored])).err).toContain("3 plants");

    expect(await audited()).toEqual([
      ["backup.downloaded", name],
      ["backup.created", "data file"],
    ]);
  });

  test("are made one at a time, count as the last backup, and share the folder with the command line", async () => {
    const leftover = join(backupFolder, "plants-2026-01-01T00-00-00-000Z.db.partial");
    writeFileSync(leftover, "");
    {
      using _other = new BackupFolder(running.database, backupFolder);
      await call("", "POST");
      expect((await finished()).last?.problem).toContain("Another backup of plants");
    }
    const both = await Promise.all([call("", "POST"), call("", "POST")]);
    expect(both.map(({ status }) => status).sort()).toEqual([202, 503]);
    const [newest] = (await finished()).backups;
    expect(existsSync(leftover)).toBe(false);
    const overview = await fetch(`${running.operatorUrl}/api/overview`, { headers });
    const { store } = (await overview.json()) as { store: { lastBackupAt: string } };
    expect(store.lastBackupAt).toBe(newest?.at ?? "");
  });

  test("are verified, and one that was changed is reported", async () => {
    await call("", "POST");
    const [{ name } = { name: "" }] = (await finished()).backups;
    expect((await call(`/${name}/verify`, "POST")).status).toBe(202);
    expect((await audited())[0]).toEqual(["backup.verified", name]);
    expect((await finished()).last).toEqual({ kind: "verify", name, endedAt: expect.any(String) } as never);
    appendFileSync(join(backupFolder, name), "x");
    await call(`/${name}/verify`, "POST");
    expect((await finished()).last).toMatchObject({ name, problem: "it does not match its checksum" });
  });

  test("never lead out of their folder", async () => {
    const secret = join(folder.path, "secret");
    writeFileSync(secret, "secret");
    const linked = "plants-2026-01-01T00-00-00-000Z.db";
    symlinkSync(secret, join(backupFolder, linked));
    for (const name of [linked, "..%2Fsecret", "%2Fetc%2Fpasswd", "plants.db"])
      for (const action of ["link", "verify"]) {
        const { status, error } = await call(`/${name}/${action}`, "POST");
        expect([name, status, error]).toEqual([name, 404, 40401]);
      }
    expect((await call("")).backups.map(({ name }) => name)).not.toContain(linked);
  });
});

test("without an entry in the audit trail, no backup is made, verified or downloaded", async () => {
  const own = join(folder.path, "own");
  mkdirSync(own);
  await using service = await startTestService({ "backup-folder": own });
  const at = service.operatorUrl;
  await call("", "POST", at);
  const { backups, last } = await finished(at);
  const [{ name } = { name: "" }] = backups;
  const { url } = await call(`/${name}/link`, "POST", at);
  using database = new Database(service.database);
  database.run("DROP TABLE audit_trail");
  for (const path of ["", `/${name}/verify`])
    expect(await call(path, "POST", at)).toMatchObject({ status: 500, error: 50001 });
  expect((await fetch(at + url)).status).toBe(500);
  const { backups: listed, last: unchanged, task } = await call("", "GET", at);
  expect({ backups: listed, last: unchanged, task }).toEqual({ backups, last, task: undefined } as never);
});

test.skipIf(lacks("Linux", process.platform !== "linux"))(
  "a backup that nobody reads is not open",
  async () => {
    const backups = new ServiceBackups(running.database, backupFolder);
    const [{ name } = { name: "" }] = backups.list();
    expect(backups.read(name)).toBeDefined();
    const opened = async () => {
      const descriptors = await readdir("/proc/self/fd");
      const links = await Promise.all(
        descriptors.map((name) => readlink(`/proc/self/fd/${name}`).catch(() => "")),
      );
      return links.includes(join(backupFolder, name));
    };
    // Long enough for the first to be opened as well.
    for await (const piece of backups.read(name) ?? []) expect(piece.length).toBeGreaterThan(0);
    await eventually(async () => !(await opened()));
  },
);

test("without a folder a sentence says so; with a missing one, a backup fails and is logged with its request", async () => {
  await using without = await startTestService();
  const { unavailable } = await call("", "GET", without.operatorUrl);
  expect(unavailable).toBe("Set --backup-folder to an existing folder to make backups here.");
  expect(await call("", "POST", without.operatorUrl)).toMatchObject({ error: 40031, message: unavailable });
  const missing = join(folder.path, "missing");
  await using wrong = await startTestService({ "backup-folder": missing });
  expect((await call("", "GET", wrong.operatorUrl)).unavailable).toContain("does not exist");
  const trace_id = "4bf92f3577b34da6a3ce929d0e0e4736";
  const traceparent = `00-${trace_id}-00f067aa0ba902b7-01`;
  await fetch(`${wrong.operatorUrl}/api/backups`, { method: "POST", headers: { ...headers, traceparent } });
  expect((await finished(wrong.operatorUrl)).last?.problem).toContain("does not exist");
  const lines = wrong.logged.map((line) => JSON.parse(line));
  expect(lines.find(({ message }) => message === "internal error")).toMatchObject({ trace_id });
  expect(existsSync(missing)).toBe(false);
});
