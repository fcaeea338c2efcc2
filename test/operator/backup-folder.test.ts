// What becomes of backups through the operator listener, and of plants, if their folder is missing or does not respond.
import { afterAll, expect, test } from "bun:test";
import { existsSync, renameSync, symlinkSync } from "node:fs";
import { backupCalls, makeLink, startWithBackups } from "../support/backups.ts";
import { start, unshareArguments, untilListening } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";
import { lacksFuse, mountHanging } from "../support/lacks.ts";
import { operatorFetch } from "../support/operator-requests.ts";
import { post } from "../support/post-plants.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { startTestService } from "../support/test-service.ts";
import { bothTokensEnvironment } from "../support/tokens.ts";

const folder = temporaryFolder();
afterAll(() => folder[Symbol.dispose]());

test.skipIf(lacksFuse())("a backup into a folder that hangs delays no plant, and no stop", async () => {
  const hanging = folder.newFolder();
  const args = ["serve", "--database", folder.newPath(), "--backup-folder", hanging, "--drain-timeout", "1s"];
  const shell = unshareArguments(`${mountHanging(hanging)} && exec "$@"`, args);
  await using service = await untilListening(start("unshare", shell, { environment: bothTokensEnvironment }));
  backupCalls(service)
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
  service.child.kill("SIGTERM");
  const { code, err } = await service.ended;
  expect(code).toBe(0);
  expect(err).toContain("is cut off");
  expect(err.trim().split("\n").at(-1)).toContain("every acknowledged plant is on disk");
});

test("a sentence says why there are no backups: the folder is not set, or cannot be read", async () => {
  await using service = await startTestService();
  const { list, send } = backupCalls(service);
  const unavailable = "Set --backup-folder to an existing folder to make backups here.";
  expect((await list()).unavailable).toBe(unavailable);
  expect(await send("")).toMatchObject({ error: 40031, message: unavailable });

  const unreadable = folder.newPath("unreadable");
  symlinkSync(unreadable, unreadable);
  await using other = await startWithBackups({ backupFolder: unreadable });
  const reason = `${unreadable} cannot be opened: too many symbolic links`;
  expect((await other.list()).unavailable).toStartWith(reason);
});

test("with a missing folder for backups, a sentence says so, and a backup fails with it", async () => {
  const missing = folder.newPath("missing");
  await using service = await startWithBackups({ backupFolder: missing });
  const sentence = `The folder ${missing} does not exist; create it first.`;
  expect((await service.list()).unavailable).toBe(sentence);

  await service.send("");
  const { last } = await service.finished();
  expect(last).toEqual({ name: undefined, problem: sentence });
  expect((await service.audited())[0]).toMatchObject({ action: "backup.failed", detail: sentence });
  expect(existsSync(missing)).toBe(false);
  const warnings = service.logged.map((line) => JSON.parse(line)).filter(({ level }) => level === "warn");
  expect(warnings).toMatchObject([
    { message: "there can be no backups in the backup folder", "exception.message": sentence },
    {
      message: "a backup could not be made",
      "plant_store.request_id": expect.any(String),
      "exception.message": sentence,
    },
  ]);
  expect(service.logged.join("")).not.toContain("internal error");
});

test("while the folder for backups is missing, each request says so, and uses up no link", async () => {
  await using service = await startWithBackups();
  const { name, link } = await makeLink(service);
  renameSync(service.backupFolder, `${service.backupFolder}.away`);
  const message = `The folder ${service.backupFolder} does not exist; create it first.`;
  expect(await service.send(`/${name}/link`)).toMatchObject({ error: 50302, message });
  expect(await (await fetch(link)).json()).toMatchObject({ error: 50302, message });
  expect(service.logged.join("")).not.toContain("internal error");
  renameSync(`${service.backupFolder}.away`, service.backupFolder);
  expect((await fetch(link)).status).toBe(200);
});
