// Backups that are verified through the operator listener: what is found, recorded and listed.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { appendFileSync, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { verifyDataFile } from "../../src/storage/sqlite/maintenance/verify.ts";
import { startWithBackups } from "../support/backups.ts";
import { seedStore } from "../support/seeded-store.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const folder = temporaryFolder();
// A store of 3,000 plants, which no test changes: one that does uses a copy.
const database = join(folder.path, "plants.db");

beforeAll(() => seedStore(database, { plants: 3000 }));
afterAll(() => folder[Symbol.dispose]());

test("a backup is listed as verified from when it passes until it is changed, also after a restart", async () => {
  const store = folder.newCopy(database);
  const backupFolder = folder.newFolder();
  const { name, listed } = await (async () => {
    await using service = await startWithBackups({ database: store, backupFolder });
    const { name } = await service.makeBackup();
    expect((await service.onlyBackup()).verifiedAt).toBeUndefined();
    const fromMs = Date.now();
    const { last } = await service.verifyBackup(name);
    expect(last).toEqual({ kind: "verify", name, problem: undefined });
    expect((await service.audited())[0]).toMatchObject({ action: "backup.verified", subject: name });
    const listed = await service.onlyBackup();
    expect(Date.parse(listed.verifiedAt ?? "")).toBeGreaterThanOrEqual(fromMs);
    return { name, listed };
  })();
  const { digest } = await verifyDataFile(store);
  expect(listed).toMatchObject({ coveredPlants: 2048, digest });

  await using again = await startWithBackups({ database: store, backupFolder });
  expect(await again.onlyBackup()).toEqual(listed);
  appendFileSync(join(backupFolder, name), "x");
  expect((await again.onlyBackup()).verifiedAt).toBeUndefined();
});

test("a backup that fails to verify is listed with its digest and not as verified", async () => {
  await using service = await startWithBackups({ database: folder.newCopy(database) });
  const { name, digest } = await service.makeBackup();
  const path = join(service.backupFolder, name);
  const problem = async () => (await service.verifyBackup(name)).last?.problem;
  expect(await problem()).toBeUndefined();
  renameSync(`${path}.sha256`, `${path}.away`);
  expect(await problem()).toBe("it has no checksum file");
  const listed = await service.onlyBackup();
  expect(listed.digest).toBe(digest);
  expect(listed.verifiedAt).toBeUndefined();
  renameSync(`${path}.away`, `${path}.sha256`);

  const other = { coveredPlants: 1024, digest: "0".repeat(64) };
  writeFileSync(`${path}.digest.json`, JSON.stringify(other));
  expect(await problem()).toContain("its digest is not the one in");
  expect((await service.onlyBackup()).verifiedAt).toBeUndefined();
  appendFileSync(path, "x");
  expect(await problem()).toContain("its checksum is not the one in");
  expect(service.logged.join("")).toContain('"a backup did not pass its verification"');
});

test("a backup without its record is listed without a digest until it is verified", async () => {
  await using service = await startWithBackups({ database: folder.newCopy(database) });
  const { name, digest } = await service.makeBackup();
  rmSync(join(service.backupFolder, `${name}.digest.json`));
  expect(await service.onlyBackup()).toMatchObject({ coveredPlants: 0, digest: null });
  await service.verifyBackup(name);
  expect(await service.onlyBackup()).toMatchObject({ coveredPlants: 2048, digest });
});

test("a backup whose digest record cannot be read is listed without a digest, and fails to verify", async () => {
  await using service = await startWithBackups();
  const { name } = await service.makeBackup();
  const record = join(service.backupFolder, `${name}.digest.json`);
  rmSync(record);
  mkdirSync(record);
  expect(await service.onlyBackup()).toMatchObject({ name, digest: null });
  const { last } = await service.verifyBackup(name);
  expect(last?.problem).toStartWith(`${record} cannot be opened: it is a directory`);
  expect(service.logged.join("")).not.toContain("internal error");
});

test("a verification that cannot be recorded says so with its result", async () => {
  await using service = await startWithBackups();
  const { name } = await service.makeBackup();
  mkdirSync(join(service.backupFolder, `${name}.digest.json.new`, "in the way"), { recursive: true });
  const passed = (await service.verifyBackup(name)).last;
  expect(passed?.problem).toBeUndefined();
  expect(passed?.warning).toStartWith(
    "Nothing wrong was found in the backup, but that could not be recorded: ",
  );
  appendFileSync(join(service.backupFolder, name), "x");
  const failed = (await service.verifyBackup(name)).last;
  expect(failed?.problem).toMatch(/^its checksum is not the one in .*; this could not be recorded: /);
  expect(service.logged.join("")).not.toContain("internal error");
});
