// Backups through the operator listener: they are made, listed, downloaded and verified.
import { Database } from "bun:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import {
  appendFileSync,
  closeSync,
  constants,
  copyFileSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import type {
  AuditPageJson,
  BackupJson,
  BackupsJson,
  DownloadLinkJson,
} from "../../src/operator/responses.ts";
import { verify } from "../../src/storage/sqlite/maintenance/verify.ts";
import { shellArguments, start, untilListening } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";
import { lacks, lacksFuse, mountHanging } from "../support/lacks.ts";
import { lacksDescriptors, openDescriptors } from "../support/open-descriptors.ts";
import { operatorFetch, operatorGet, operatorPost } from "../support/operator-requests.ts";
import { post } from "../support/post-plants.ts";
import { changePlant, seedStore } from "../support/seeded-store.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { runInProcess } from "../support/terminal.ts";
import { startTestService, type TestService } from "../support/test-service.ts";
import { bothTokensEnvironment } from "../support/tokens.ts";

const folder = temporaryFolder();
// A store of 3,000 plants, which no test changes, nor its record of the last backup: one that does uses a copy.
const database = join(folder.path, "plants.db");

beforeAll(() => seedStore(database, { plants: 3000, fromMs: 1_700_000_000_000, untilMs: 1_700_100_000_000 }));
afterAll(() => folder[Symbol.dispose]());

describe("backups through the operator listener", () => {
  /** A service with an empty folder for backups, and its calls. It has three plants, or those of a given store. */
  async function startWithBackups(store?: string, backupFolder = folder.newFolder()) {
    await using cleanUp = new AsyncDisposableStack();
    const service = cleanUp.use(await startTestService({ "backup-folder": backupFolder, database: store }));
    if (store === undefined)
      for (const id of [1, 2, 3]) await post(service.url, `{"id":${id},"name":"Fern"}`);
    cleanUp.move();
    return { ...service, ...callsOf(service), backupFolder };
  }

  function callsOf(service: Pick<TestService, "operatorUrl">) {
    async function list(): Promise<BackupsJson> {
      const response = await operatorFetch(service, "/api/backups");
      expect(response.status).toBe(200);
      return (await response.json()) as BackupsJson;
    }

    /** The backup of a service that has one. */
    async function onlyBackup(): Promise<BackupJson> {
      const { backups } = await list();
      expect(backups).toHaveLength(1);
      return backups[0] as BackupJson;
    }

    /** The list of the backups, once nothing is being made or verified. */
    async function finished(): Promise<BackupsJson> {
      await eventually(async () => (await list()).task === undefined);
      return list();
    }

    /** The status of a POST to a path below /api/backups, and what its response has. */
    async function send(path: string): Promise<object & { readonly status: number }> {
      const response = await operatorFetch(service, `/api/backups${path}`, { method: "POST" });
      return { status: response.status, ...((await response.json()) as object) };
    }

    async function makeBackup(): Promise<BackupJson> {
      expect((await send("")).status).toBe(202);
      await finished();
      return onlyBackup();
    }

    /** The list of the backups, once that one is verified. */
    async function verifyBackup(name: string): Promise<BackupsJson> {
      expect((await send(`/${name}/verify`)).status).toBe(202);
      return finished();
    }

    /** The address for the download of a backup. */
    async function createLink(name: string): Promise<string> {
      const path = `/api/backups/${encodeURIComponent(name)}/link`;
      const { url } = await operatorPost<DownloadLinkJson>(service, path);
      return service.operatorUrl + url;
    }

    async function audited() {
      const { entries } = await operatorGet<AuditPageJson>(service, "/api/audit");
      return entries;
    }

    return { list, onlyBackup, finished, send, makeBackup, verifyBackup, createLink, audited };
  }

  test("one is made and listed", async () => {
    await using service = await startWithBackups();
    const { name } = await service.makeBackup();
    const { last } = await service.list();
    expect(last).toEqual({ kind: "create", name, problem: undefined });
    expect(await service.audited()).toMatchObject([{ action: "backup.created", subject: "data file" }]);
  });

  test("one of changed plants counts, with a warning", async () => {
    const store = folder.newCopy(database);
    changePlant(store);
    await using service = await startWithBackups(store);
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

  describe("one that is downloaded through a link", () => {
    async function downloadBackup(service: Awaited<ReturnType<typeof startWithBackups>>) {
      const backup = await service.makeBackup();
      const link = await service.createLink(backup.name);
      const response = await fetch(link);
      expect(response.status).toBe(200);
      return { ...backup, link, response, downloaded: Buffer.from(await response.arrayBuffer()) };
    }

    test("has the name of the backup", async () => {
      await using service = await startWithBackups();
      const { name, response } = await downloadBackup(service);
      expect(response.headers.get("content-disposition")).toBe(`attachment; filename="${name}"`);
    });

    test("is whole", async () => {
      await using service = await startWithBackups();
      const { name, bytes, downloaded } = await downloadBackup(service);
      expect(downloaded.length).toBe(bytes);
      expect(downloaded.equals(readFileSync(join(service.backupFolder, name)))).toBe(true);
    });

    test("can be restored", async () => {
      await using service = await startWithBackups();
      const { downloaded } = await downloadBackup(service);
      const file = folder.newPath();
      writeFileSync(file, downloaded);
      const { code, err } = await runInProcess(["restore", file, "--database", folder.newPath()]);
      expect(code).toBe(0);
      expect(err).toContain("3 plants");
    });

    test("is in the audit trail", async () => {
      await using service = await startWithBackups();
      const { name } = await downloadBackup(service);
      expect((await service.audited())[0]).toMatchObject({ action: "backup.downloaded", subject: name });
    });

    test("is not downloaded again: the link is valid once", async () => {
      await using service = await startWithBackups();
      const { link } = await downloadBackup(service);
      expect((await fetch(link)).status).toBe(404);
    });
  });

  test("one of a data file with a strange name is downloaded, too", async () => {
    const store = join(folder.newFolder(), `plants "100%" #1.db`);
    copyFileSync(database, store);
    await using service = await startWithBackups(store);
    const { name } = await service.makeBackup();
    expect(name).toStartWith(`plants "100%" #1-`);
    const response = await fetch(await service.createLink(name));
    expect(response.status).toBe(200);
    expect(response.headers.get("content-disposition")).toBe(
      `attachment; filename="${name.replaceAll('"', "_")}"`,
    );
  });

  const lacksFifo = lacks("mkfifo", Bun.which("mkfifo") === null);
  test.skipIf(lacksDescriptors() || lacksFifo)(
    "a folder that does not respond keeps no plant from being stored",
    async () => {
      await using service = await startWithBackups();
      const { name } = await service.makeBackup();
      // Reading a FIFO waits for whoever writes to it, as a file on another machine waits for that machine.
      const record = join(service.backupFolder, `${name}.digest.json`);
      rmSync(record);
      expect(spawnSync("mkfifo", [record]).status).toBe(0);
      const writer = openSync(record, constants.O_RDWR);
      const list = service.list();
      await eventually(() => openDescriptors(record) === 2, "the service to read the FIFO");
      expect((await post(service.url, '{"id":4,"name":"Fern"}')).status).toBe(200);
      closeSync(writer);
      expect((await list).backups).toHaveLength(1);
    },
  );

  test.skipIf(lacksFuse())("a backup into a folder that hangs keeps no plant from being stored", async () => {
    const hanging = folder.newFolder();
    const args = ["serve", "--database", folder.newPath(), "--backup-folder", hanging];
    const shell = shellArguments(`${mountHanging(hanging)} && exec "$@"`, args);
    await using service = await untilListening(
      start("unshare", ["-rm", "sh", ...shell], { environment: bothTokensEnvironment }),
    );
    callsOf(service)
      .send("")
      .catch(() => "its response never arrives");
    await eventually(async () => {
      // Without a limit, a service that hangs would keep the test from failing.
      const signal = AbortSignal.timeout(2000);
      const response = await operatorFetch(service, "/api/audit", { signal });
      return JSON.parse(await response.text()).entries.length === 1;
    }, "the backup to begin");
    for (const id of [1, 2, 3])
      expect((await post(service.url, `{"id":${id},"name":"Fern"}`)).status).toBe(200);
  });

  test("they are made one at a time", async () => {
    await using service = await startWithBackups();
    const both = await Promise.all([service.send(""), service.send("")]);
    expect(both.map(({ status }) => status).sort()).toEqual([202, 503]);
    await service.finished();
  });

  test("the overview and the metrics have the time of the last", async () => {
    await using service = await startWithBackups();
    const { at } = await service.makeBackup();
    expect(await operatorGet(service, "/api/overview")).toMatchObject({ store: { lastBackupAt: at } });
    const metrics = await (await operatorFetch(service, "/metrics")).text();
    const [, seconds] = /^plant_store_last_backup_timestamp_seconds (\S+)$/m.exec(metrics) ?? [];
    expect(Number(seconds) * 1000).toBe(Date.parse(at));
  });

  test("one is listed with the time when it was verified", async () => {
    await using service = await startWithBackups();
    const { name, verifiedAt } = await service.makeBackup();
    expect(verifiedAt).toBeUndefined();
    const fromMs = Date.now();
    const { last } = await service.verifyBackup(name);
    expect(last).toEqual({ kind: "verify", name, problem: undefined });
    const { verifiedAt: listedAt = "" } = await service.onlyBackup();
    expect(Date.parse(listedAt)).toBeGreaterThanOrEqual(fromMs);
    expect((await service.audited())[0]).toMatchObject({ action: "backup.verified", subject: name });
  });

  test("one is still listed as verified after a restart", async () => {
    const store = folder.newCopy(database);
    const backupFolder = folder.newFolder();
    const verifiedAt = await (async () => {
      await using service = await startWithBackups(store, backupFolder);
      const { name } = await service.makeBackup();
      await service.verifyBackup(name);
      return (await service.onlyBackup()).verifiedAt;
    })();
    expect(verifiedAt).toBeString();
    await using again = await startWithBackups(store, backupFolder);
    expect((await again.onlyBackup()).verifiedAt).toBe(verifiedAt);
  });

  test("one that was changed after it was verified is no longer listed as verified", async () => {
    await using service = await startWithBackups();
    const { name } = await service.makeBackup();
    await service.verifyBackup(name);
    appendFileSync(join(service.backupFolder, name), "x");
    expect((await service.onlyBackup()).verifiedAt).toBeUndefined();
  });

  test("one that fails to verify is no longer listed as verified, with its digest", async () => {
    const store = folder.newCopy(database);
    await using service = await startWithBackups(store);
    const { name, digest } = await service.makeBackup();
    await service.verifyBackup(name);
    rmSync(join(service.backupFolder, `${name}.sha256`));
    const { last } = await service.verifyBackup(name);
    expect(last?.problem).toBe("it has no checksum file");
    const listed = await service.onlyBackup();
    expect(listed.verifiedAt).toBeUndefined();
    expect(listed.digest).toBe(digest);
  });

  test("one that was changed is reported when it is verified", async () => {
    await using service = await startWithBackups();
    const { name } = await service.makeBackup();
    appendFileSync(join(service.backupFolder, name), "x");
    const { last } = await service.verifyBackup(name);
    expect(last?.name).toBe(name);
    expect(last?.problem).toContain("its checksum is not the one in");
    expect(service.logged.join("")).toContain('"a backup did not pass its verification"');
  });

  test("one is listed with its digest, which is computed again if it is missing", async () => {
    const store = folder.newCopy(database);
    await using service = await startWithBackups(store);
    const { digest } = await verify(store);
    const made = await service.makeBackup();
    expect(made).toMatchObject({ coveredPlants: 2048, digest });
    // As 1.0.0 leaves one: the digest is known once it is computed.
    rmSync(join(service.backupFolder, `${made.name}.digest.json`));
    expect(await service.onlyBackup()).toMatchObject({ coveredPlants: 0, digest: null });
    await service.verifyBackup(made.name);
    expect(await service.onlyBackup()).toMatchObject({ coveredPlants: 2048, digest });
  });

  test("one whose digest differs from the one beside it is not verified", async () => {
    await using service = await startWithBackups();
    const { name } = await service.makeBackup();
    const other = { coveredPlants: 1024, digest: "0".repeat(64) };
    writeFileSync(join(service.backupFolder, `${name}.digest.json`), JSON.stringify(other));
    const { last } = await service.verifyBackup(name);
    expect(last?.problem).toContain("its digest is not the one in");
    expect((await service.onlyBackup()).verifiedAt).toBeUndefined();
  });

  describe("one whose digest record cannot be read", () => {
    /** Makes a backup, and puts a folder in the place of its record. */
    const makeUnreadable = async (service: Awaited<ReturnType<typeof startWithBackups>>) => {
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
      expect(last?.problem).toStartWith(`${record} cannot be opened: EISDIR`);
      expect(service.logged.join("")).not.toContain("internal error");
    });
  });

  describe("one whose verification cannot be recorded", () => {
    /** The name of a backup beside which no record of a verification can be written. */
    const makeUnrecordable = async (
      service: Awaited<ReturnType<typeof startWithBackups>>,
    ): Promise<string> => {
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

  test("a name that the message would cut within a character is cut before it", async () => {
    await using service = await startWithBackups();
    const fitting = "a".repeat(99);
    const response = await service.send(`/${fitting}%F0%9F%8C%B1/verify`);
    expect(response).toMatchObject({ error: 40401, message: `There is no backup ${fitting}.` });
  });

  describe("a name that leads out of the folder", () => {
    const linked = "plants-2026-01-01T00-00-00-000Z.db";
    let service: Awaited<ReturnType<typeof startWithBackups>>;
    beforeAll(async () => {
      service = await startWithBackups();
      symlinkSync(database, join(service.backupFolder, linked));
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

  test("without a folder a sentence says how to set one", async () => {
    await using service = await startTestService();
    const { list, send } = callsOf(service);
    const unavailable = "Set --backup-folder to an existing folder to make backups here.";
    expect((await list()).unavailable).toBe(unavailable);
    expect(await send("")).toMatchObject({ error: 40031, message: unavailable });
  });

  describe("with a missing folder", () => {
    async function startWithMissing() {
      const missing = folder.newPath("missing");
      const service = await startWithBackups(undefined, missing);
      return { ...service, missing, sentence: `The folder ${missing} does not exist; create it first.` };
    }

    test("a sentence says so", async () => {
      await using service = await startWithMissing();
      expect((await service.list()).unavailable).toBe(service.sentence);
    });

    test("a backup fails with that sentence", async () => {
      await using service = await startWithMissing();
      await service.send("");
      const { last } = await service.finished();
      expect(last).toEqual({ kind: "create", name: undefined, problem: service.sentence });
    });

    test("a backup is logged with a warning, and not as an internal error", async () => {
      await using service = await startWithMissing();
      await service.send("");
      await service.finished();
      const warning = service.logged.map((line) => JSON.parse(line)).find(({ level }) => level === "warn");
      expect(warning).toMatchObject({
        message: "a backup could not be made",
        "plant_store.request_id": expect.any(String),
        "exception.message": service.sentence,
      });
      expect(service.logged.join("")).not.toContain("internal error");
    });

    test("a backup does not create it", async () => {
      await using service = await startWithMissing();
      await service.send("");
      await service.finished();
      expect(existsSync(service.missing)).toBe(false);
    });
  });

  test("with a folder that cannot be read a sentence says so", async () => {
    const unreadable = folder.newPath("unreadable");
    symlinkSync(unreadable, unreadable);
    await using service = await startWithBackups(undefined, unreadable);
    expect((await service.list()).unavailable).toStartWith(`${unreadable} cannot be opened: ELOOP`);
  });

  /** A backup, and a link to download it by. */
  const makeLink = async (service: Awaited<ReturnType<typeof startWithBackups>>) => {
    const { name } = await service.makeBackup();
    return { name, link: await service.createLink(name) };
  };

  describe("after the folder was removed", () => {
    let service: Awaited<ReturnType<typeof startWithBackups>>;
    let name: string;
    let link: string;
    beforeAll(async () => {
      service = await startWithBackups();
      ({ name, link } = await makeLink(service));
      rmSync(service.backupFolder, { recursive: true });
    });
    afterAll(() => service[Symbol.asyncDispose]());

    test.each([
      ["verify", () => operatorFetch(service, `/api/backups/${name}/verify`, { method: "POST" })],
      ["link", () => operatorFetch(service, `/api/backups/${name}/link`, { method: "POST" })],
      ["download", () => fetch(link)],
    ])("a sentence says so: %s", async (_, request) => {
      const response = await request();
      expect(await response.json()).toMatchObject({
        error: 40031,
        message: `The folder ${service.backupFolder} does not exist; create it first.`,
      });
      expect(service.logged.join("")).not.toContain("internal error");
    });
  });

  test("a folder that is missing for a while does not use up a link", async () => {
    await using service = await startWithBackups();
    const { link } = await makeLink(service);
    renameSync(service.backupFolder, `${service.backupFolder}.away`);
    expect(await (await fetch(link)).json()).toMatchObject({ error: 40031 });
    renameSync(`${service.backupFolder}.away`, service.backupFolder);
    expect((await fetch(link)).status).toBe(200);
  });

  describe("without an entry in the audit trail", () => {
    let service: Awaited<ReturnType<typeof startWithBackups>>;
    let name: string;
    let link: string;
    beforeAll(async () => {
      service = await startWithBackups();
      ({ name, link } = await makeLink(service));
      using file = new Database(service.database);
      file.run("DROP TABLE audit_trail");
    });
    afterAll(() => service[Symbol.asyncDispose]());

    test("none is made", async () => {
      const before = await service.finished();
      expect(await service.send("")).toMatchObject({ status: 500, error: 50001 });
      expect(await service.finished()).toEqual(before);
    });

    test("none is verified", async () => {
      const before = await service.finished();
      expect(await service.send(`/${name}/verify`)).toMatchObject({ status: 500, error: 50001 });
      expect(await service.finished()).toEqual(before);
    });

    test("none is downloaded", async () => {
      expect((await fetch(link)).status).toBe(500);
    });
  });
});
