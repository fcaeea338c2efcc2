// A service with a folder for backups, and the calls of its operator listener that concern them.
import { expect } from "bun:test";
import type {
  AuditPageJson,
  BackupJson,
  BackupsJson,
  DownloadLinkJson,
} from "../../src/operator/responses.ts";
import { eventually } from "./eventually.ts";
import { operatorFetch, operatorGet, operatorPost } from "./operator-requests.ts";
import { post } from "./post-plants.ts";
import { temporaryFolder } from "./temporary-folder.ts";
import { startTestService, type TestService } from "./test-service.ts";

export type ServiceWithBackups = Awaited<ReturnType<typeof startWithBackups>>;

interface BackupOptions {
  /** By default one with three plants. */
  readonly database?: string;
  /** By default an empty one. */
  readonly backupFolder?: string;
}

/** A service with a folder for backups, and its calls. */
export async function startWithBackups({ database, backupFolder }: BackupOptions = {}) {
  await using cleanUp = new AsyncDisposableStack();
  const folder = backupFolder ?? cleanUp.use(temporaryFolder()).path;
  const service = cleanUp.use(await startTestService({ "backup-folder": folder, database }));
  if (database === undefined)
    for (const id of [1, 2, 3]) await post(service.url, `{"id":${id},"name":"Fern"}`);
  const owned = cleanUp.move();
  return {
    ...service,
    ...backupCalls(service),
    backupFolder: folder,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** A backup, and a link to download it by. */
export async function makeLink(service: ServiceWithBackups): Promise<{ name: string; link: string }> {
  const { name } = await service.makeBackup();
  return { name, link: await service.createLink(name) };
}

/** The calls that concern backups. */
export function backupCalls(service: Pick<TestService, "operatorUrl">) {
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

  /** The list of the backups, once none is being made. */
  async function finished(): Promise<BackupsJson> {
    await eventually(async () => !(await list()).isRunning);
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

  return { list, onlyBackup, finished, send, makeBackup, createLink, audited };
}
