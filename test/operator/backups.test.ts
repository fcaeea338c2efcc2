// Backups through the operator listener: how they are made and listed, and by which names they are found.
import { Database } from "bun:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeLink, type ServiceWithBackups, startWithBackups } from "../support/backups.ts";
import { operatorFetch, operatorGet } from "../support/operator-requests.ts";
import { changePlant, seedStore } from "../support/seeded-store.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

test("a backup is made and listed", async () => {
  await using service = await startWithBackups();
  const { name } = await service.makeBackup();
  const { last } = await service.list();
  expect(last).toEqual({ kind: "create", name, problem: undefined });
  expect(await service.audited()).toMatchObject([{ action: "backup.created", subject: "data file" }]);
});

test("a backup of changed plants counts, with a warning", async () => {
  using folder = temporaryFolder();
  const database = folder.newPath();
  // With a full block, which has a digest.
  seedStore(database, { plants: 1100 });
  changePlant(database);
  await using service = await startWithBackups({ database });
  const { name } = await service.makeBackup();
  const { last } = await service.list();
  expect(last).toEqual({
    kind: "create",
    name,
    problem: undefined,
    warning:
      "The backup is complete, but plants were changed after they were stored, in block 0 (plants 1 to 1024); verify the data file.",
  });
  expect(service.logged.join("")).not.toContain("internal error");
});

test("a file whose name is no time is not listed", async () => {
  await using service = await startWithBackups();
  writeFileSync(join(service.backupFolder, "plants-2026-99-99T99-99-99-999Z.db"), "");
  const list = await service.list();
  expect(list.folder).toBe(service.backupFolder);
  expect(list.backups).toEqual([]);
});

test("backups are made one at a time", async () => {
  await using service = await startWithBackups();
  const both = await Promise.all([service.send(""), service.send("")]);
  expect(both.map(({ status }) => status).sort()).toEqual([202, 503]);
  await service.finished();
});

test("the overview and the metrics have the time of the last backup", async () => {
  await using service = await startWithBackups();
  const { at } = await service.makeBackup();
  expect(await operatorGet(service, "/api/overview")).toMatchObject({ store: { lastBackupAt: at } });
  const metrics = await (await operatorFetch(service, "/metrics")).text();
  const [, seconds] = /^plant_store_last_backup_timestamp_seconds (\S+)$/m.exec(metrics) ?? [];
  expect(Number(seconds) * 1000).toBe(Date.parse(at));
});

test("the name of a backup that the message would cut within a character is cut before it", async () => {
  await using service = await startWithBackups();
  const fitting = "a".repeat(98);
  const response = await service.send(`/${fitting}%F0%9F%8C%B1a/verify`);
  expect(response).toMatchObject({ error: 40401, message: `There is no backup ${fitting}….` });
});

describe("the name of a backup that leads out of the folder", () => {
  const linked = "plants-2026-01-01T00-00-00-000Z.db";
  let service: ServiceWithBackups;
  beforeAll(async () => {
    service = await startWithBackups();
    symlinkSync(service.database, join(service.backupFolder, linked));
  });
  afterAll(() => service[Symbol.asyncDispose]());

  const outside = [linked, "..%2Fplants.db", "%2Fetc%2Fpasswd", "plants.db"];
  test.each(outside)("gets no link: %s", async (name) => {
    expect(await service.send(`/${name}/link`)).toMatchObject({ error: 40401 });
  });

  test.each(outside)("is not verified: %s", async (name) => {
    expect(await service.send(`/${name}/verify`)).toMatchObject({ error: 40401 });
  });

  test("is not listed", async () => {
    expect(JSON.stringify(await service.list())).not.toContain(linked);
  });
});

describe("without an entry in the audit trail", () => {
  let service: ServiceWithBackups;
  let name: string;
  let link: string;
  beforeAll(async () => {
    service = await startWithBackups();
    ({ name, link } = await makeLink(service));
    using file = new Database(service.database);
    file.run("DROP TABLE audit_trail");
  });
  afterAll(() => service[Symbol.asyncDispose]());

  test("no backup is made", async () => {
    const before = await service.finished();
    expect(await service.send("")).toMatchObject({ status: 500, error: 50001 });
    expect(await service.finished()).toEqual(before);
  });

  test("no backup is verified", async () => {
    const before = await service.finished();
    expect(await service.send(`/${name}/verify`)).toMatchObject({ status: 500, error: 50001 });
    expect(await service.finished()).toEqual(before);
  });

  test("no backup is downloaded", async () => {
    expect((await fetch(link)).status).toBe(500);
  });
});
