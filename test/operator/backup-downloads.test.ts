// Backups that are downloaded from the operator listener, through a link that is valid once.
import { afterAll, expect, test } from "bun:test";
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeLink, startWithBackups } from "../support/backups.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { runInProcess } from "../support/terminal.ts";

const folder = temporaryFolder();
afterAll(() => folder[Symbol.dispose]());

test("a link downloads the whole backup, once", async () => {
  await using service = await startWithBackups();
  const { name, bytes } = await service.makeBackup();
  const link = await service.createLink(name);
  const response = await fetch(link);
  expect(response.status).toBe(200);
  expect(response.headers.get("content-disposition")).toBe(`attachment; filename="${name}"`);
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

test("a backup of a data file with a strange name is downloaded", async () => {
  const store = join(folder.newFolder(), `plants "100%" #1.db`);
  await using service = await startWithBackups({ database: store });
  const { name } = await service.makeBackup();
  expect(name).toStartWith(`plants "100%" #1-`);
  const response = await fetch(await service.createLink(name));
  expect(response.status).toBe(200);
  expect(response.headers.get("content-disposition")).toBe(
    `attachment; filename="${name.replaceAll('"', "_")}"`,
  );
});

test("a folder for backups that is missing for a while does not use up a link", async () => {
  await using service = await startWithBackups();
  const { link } = await makeLink(service);
  renameSync(service.backupFolder, `${service.backupFolder}.away`);
  expect(await (await fetch(link)).json()).toMatchObject({ error: 40031 });
  renameSync(`${service.backupFolder}.away`, service.backupFolder);
  expect((await fetch(link)).status).toBe(200);
});
