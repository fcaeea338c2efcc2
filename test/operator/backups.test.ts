// Backups through the operator listener: how they are made, listed, found by their name, and downloaded by a link.
import { Database } from "bun:sqlite";
import { afterAll, expect, test } from "bun:test";
import { readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeLink, startWithBackups } from "../support/backups.ts";
import { operatorFetch, operatorGet } from "../support/operator-requests.ts";
import { seedStore } from "../support/seeded-store.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { runInProcess } from "../support/terminal.ts";

const folder = temporaryFolder();
afterAll(() => folder[Symbol.dispose]());

test("a backup that is made is listed, and its time is in the overview and the metrics", async () => {
  await using service = await startWithBackups();
  const { name, at } = await service.makeBackup();
  const list = await service.list();
  expect(list.folder).toBe(service.backupFolder);
  expect(list.last).toEqual({ name, problem: undefined });
  expect(await service.audited()).toMatchObject([{ action: "backup.created", subject: "data file" }]);
  expect(await operatorGet(service, "/api/overview")).toMatchObject({ store: { lastBackupAt: at } });
  const metrics = await (await operatorFetch(service, "/metrics")).text();
  const [, seconds] = /^plant_store_last_backup_timestamp_seconds (\S+)$/m.exec(metrics) ?? [];
  expect(Number(seconds) * 1000).toBe(Date.parse(at));
});

test("backups are made one at a time", async () => {
  await using service = await startWithBackups();
  const both = await Promise.all([service.send(""), service.send("")]);
  expect(both.map(({ status }) => status).sort()).toEqual([202, 503]);
  await service.finished();
});

test("a name that is no backup's is not listed, and gets no link", async () => {
  await using service = await startWithBackups();
  const linked = "plants-2026-01-01T00-00-00-000Z.db";
  const noTime = "plants-2026-99-99T99-99-99-999Z.db";
  symlinkSync(service.database, join(service.backupFolder, linked));
  writeFileSync(join(service.backupFolder, noTime), "");
  expect((await service.list()).backups).toEqual([]);

  const names = [linked, noTime, "..%2Fplants.db", "%2Fetc%2Fpasswd", "plants.db"];
  const responses = await Promise.all(
    names.map(async (name) => ({ name, response: await service.send(`/${name}/link`) })),
  );
  const notFound = expect.objectContaining({ status: 404, error: 40401 });
  expect(responses).toEqual(names.map((name) => ({ name, response: notFound })));
});

test("nothing is done to a backup without an entry in the audit trail", async () => {
  await using service = await startWithBackups();
  const { link } = await makeLink(service);
  using file = new Database(service.database);
  file.run("DROP TABLE audit_trail");
  const before = await service.finished();
  expect(await service.send("")).toMatchObject({ status: 500, error: 50001 });
  expect(await service.finished()).toEqual(before);
  expect((await fetch(link)).status).toBe(500);
});

test("a link downloads the whole backup, once, whatever the name of the data file", async () => {
  const store = join(folder.newFolder(), `plants "100%" #1.db`);
  seedStore(store, { plants: 3 });
  await using service = await startWithBackups({ database: store });
  const { name, bytes } = await service.makeBackup();
  expect(name).toStartWith(`plants "100%" #1-`);
  const link = await service.createLink(name);
  const response = await fetch(link);
  expect(response.status).toBe(200);
  const inHeader = name.replaceAll('"', "_");
  expect(response.headers.get("content-disposition")).toBe(`attachment; filename="${inHeader}"`);
  const downloaded = Buffer.from(await response.arrayBuffer());
  expect(downloaded.length).toBe(bytes);
  expect(downloaded.equals(readFileSync(join(service.backupFolder, name)))).toBe(true);
  expect((await service.audited())[0]).toMatchObject({ action: "backup.downloaded", subject: name });
  expect((await fetch(link)).status).toBe(404);

  const file = folder.newPath();
  writeFileSync(file, downloaded);
  const { code, err } = await runInProcess(["restore", file, "--database", folder.newPath()]);
  expect(code).toBe(0);
  expect(err).toContain("3 plants");
});
