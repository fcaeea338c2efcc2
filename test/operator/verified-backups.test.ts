// Backups that are verified through the operator listener: what is found, recorded and listed.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { appendFileSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { verifyDataFile } from "../../src/storage/sqlite/maintenance/verify.ts";
import { type ServiceWithBackups, startWithBackups } from "../support/backups.ts";
import { seedStore } from "../support/seeded-store.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const folder = temporaryFolder();
// A store of 3,000 plants, which no test changes: one that does uses a copy.
const database = join(folder.path, "plants.db");

beforeAll(() => seedStore(database, { plants: 3000 }));
afterAll(() => folder[Symbol.dispose]());

test("a new backup is not listed as verified", async () => {
  await using service = await startWithBackups();
  await service.makeBackup();
  expect((await service.onlyBackup()).verifiedAt).toBeUndefined();
});

test("a backup that passes its verification has no problem", async () => {
  await using service = await startWithBackups();
  const { name } = await service.makeBackup();
  const { last } = await service.verifyBackup(name);
  expect(last).toEqual({ kind: "verify", name, problem: undefined });
});

test("a backup is listed with the time when it was verified", async () => {
  await using service = await startWithBackups();
  const { name } = await service.makeBackup();
  const fromMs = Date.now();
  await service.verifyBackup(name);
  const { verifiedAt = "" } = await service.onlyBackup();
  expect(Date.parse(verifiedAt)).toBeGreaterThanOrEqual(fromMs);
});

test("a verification is in the audit trail", async () => {
  await using service = await startWithBackups();
  const { name } = await service.makeBackup();
  await service.verifyBackup(name);
  expect((await service.audited())[0]).toMatchObject({ action: "backup.verified", subject: name });
});

test("a backup is still listed as verified after a restart", async () => {
  const store = folder.newCopy(database);
  const backupFolder = folder.newFolder();
  const verifiedAt = await (async () => {
    await using service = await startWithBackups({ database: store, backupFolder });
    const { name } = await service.makeBackup();
    await service.verifyBackup(name);
    return (await service.onlyBackup()).verifiedAt;
  })();
  expect(verifiedAt).toBeString();
  await using again = await startWithBackups({ database: store, backupFolder });
  expect((await again.onlyBackup()).verifiedAt).toBe(verifiedAt);
});

test("a backup that was changed after it was verified is no longer listed as verified", async () => {
  await using service = await startWithBackups();
  const { name } = await service.makeBackup();
  await service.verifyBackup(name);
  appendFileSync(join(service.backupFolder, name), "x");
  expect((await service.onlyBackup()).verifiedAt).toBeUndefined();
});

test("a backup that fails to verify is listed with its digest and not as verified", async () => {
  const store = folder.newCopy(database);
  await using service = await startWithBackups({ database: store });
  const { name, digest } = await service.makeBackup();
  await service.verifyBackup(name);
  rmSync(join(service.backupFolder, `${name}.sha256`));
  const { last } = await service.verifyBackup(name);
  expect(last?.problem).toBe("it has no checksum file");
  const listed = await service.onlyBackup();
  expect(listed.verifiedAt).toBeUndefined();
  expect(listed.digest).toBe(digest);
});

test("a backup that was changed is reported when it is verified", async () => {
  await using service = await startWithBackups();
  const { name } = await service.makeBackup();
  appendFileSync(join(service.backupFolder, name), "x");
  const { last } = await service.verifyBackup(name);
  expect(last?.name).toBe(name);
  expect(last?.problem).toContain("its checksum is not the one in");
  expect(service.logged.join("")).toContain('"a backup did not pass its verification"');
});

test("a backup is listed with the digest of its store", async () => {
  const store = folder.newCopy(database);
  await using service = await startWithBackups({ database: store });
  await service.makeBackup();
  const { digest } = await verifyDataFile(store);
  expect(await service.onlyBackup()).toMatchObject({ coveredPlants: 2048, digest });
});

test("a backup without its record is listed without a digest until it is verified", async () => {
  await using service = await startWithBackups({ database: folder.newCopy(database) });
  const { name, digest } = await service.makeBackup();
  rmSync(join(service.backupFolder, `${name}.digest.json`));
  expect(await service.onlyBackup()).toMatchObject({ coveredPlants: 0, digest: null });
  await service.verifyBackup(name);
  expect(await service.onlyBackup()).toMatchObject({ coveredPlants: 2048, digest });
});

test("a backup whose digest differs from the one beside it is not verified", async () => {
  await using service = await startWithBackups();
  const { name } = await service.makeBackup();
  const other = { coveredPlants: 1024, digest: "0".repeat(64) };
  writeFileSync(join(service.backupFolder, `${name}.digest.json`), JSON.stringify(other));
  const { last } = await service.verifyBackup(name);
  expect(last?.problem).toContain("its digest is not the one in");
  expect((await service.onlyBackup()).verifiedAt).toBeUndefined();
});

describe("a backup whose digest record cannot be read", () => {
  /** Makes a backup, and puts a folder in the place of its record. */
  const makeUnreadable = async (service: ServiceWithBackups) => {
    const { name } = await service.makeBackup();
    const record = join(service.backupFolder, `${name}.digest.json`);
    rmSync(record);
    mkdirSync(record);
    return { name, record };
  };

  test("is listed without a digest", async () => {
    await using service = await startWithBackups();
    const { name } = await makeUnreadable(service);
    expect(await service.onlyBackup()).toMatchObject({ name, digest: null });
  });

  test("is not verified", async () => {
    await using service = await startWithBackups();
    const { name, record } = await makeUnreadable(service);
    const { last } = await service.verifyBackup(name);
    expect(last?.problem).toStartWith(`${record} cannot be opened: it is a directory`);
    expect(service.logged.join("")).not.toContain("internal error");
  });
});

describe("a backup whose verification cannot be recorded", () => {
  /** The name of a backup beside which no record of a verification can be written. */
  const makeUnrecordable = async (service: ServiceWithBackups): Promise<string> => {
    const { name } = await service.makeBackup();
    mkdirSync(join(service.backupFolder, `${name}.digest.json.new`, "in the way"), { recursive: true });
    return name;
  };

  test("passes with a warning if it is sound", async () => {
    await using service = await startWithBackups();
    const name = await makeUnrecordable(service);
    const { last } = await service.verifyBackup(name);
    expect(last?.problem).toBeUndefined();
    expect(last?.warning).toStartWith(
      "Nothing wrong was found in the backup, but that could not be recorded: ",
    );
    expect(service.logged.join("")).not.toContain("internal error");
  });

  test("fails if it was changed", async () => {
    await using service = await startWithBackups();
    const name = await makeUnrecordable(service);
    appendFileSync(join(service.backupFolder, name), "x");
    const { last } = await service.verifyBackup(name);
    expect(last?.problem).toMatch(/^its checksum is not the one in .*; this could not be recorded: /);
    expect(service.logged.join("")).not.toContain("internal error");
  });
});
