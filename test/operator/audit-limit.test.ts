// How many entries in the audit trail one caller may cause per minute.
import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import type { DownloadLinkJson } from "../../src/operator/responses.ts";
import { startWithBackups } from "../support/backups.ts";
import { eventually } from "../support/eventually.ts";
import { mintToken, operatorFetch, operatorPost } from "../support/operator-requests.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { startTestService, type TestService } from "../support/test-service.ts";

const actionsAtOnce = 60;

function signIn(service: TestService, token: string): Promise<Response> {
  return operatorFetch(service, "/api/sign-in", { method: "POST", token });
}

/** Signs in until that is refused: on a slow machine, some of the limit is free again meanwhile. */
async function useUpLimit(service: TestService, token: string): Promise<void> {
  await eventually(async () => (await signIn(service, token)).status === 429, "the limit", 0);
}

function entriesOf(service: TestService, actor: string): number {
  using database = new Database(service.database, { readonly: true });
  const sql = "SELECT count(*) AS entries FROM audit_trail WHERE actor = ?";
  return database.query<{ entries: number }, [string]>(sql).get(actor)?.entries ?? 0;
}

test("sign-ins beyond 60 per minute are refused with 42901, and leave no entry in the audit trail", async () => {
  await using service = await startTestService();
  const { secret: token } = await mintToken(service, { name: "reader", scopes: ["operator:read"] });
  const startedMs = performance.now();
  const responses = [];
  for (let count = 0; count < 3 * actionsAtOnce; count++) responses.push(await signIn(service, token));
  const seconds = (performance.now() - startedMs) / 1000;
  const accepted = responses.filter(({ status }) => status === 200).length;
  expect(accepted).toBeGreaterThanOrEqual(actionsAtOnce);
  expect(accepted).toBeLessThanOrEqual(actionsAtOnce + Math.ceil(seconds));
  expect(entriesOf(service, "reader")).toBe(accepted);

  const refused = responses.find(({ status }) => status !== 200);
  expect(refused?.status).toBe(429);
  expect(refused?.headers.get("retry-after")).toBe("1");
  expect(await refused?.json()).toMatchObject({ error: 42901 });
});

test("everything that the audit trail records counts towards one limit", async () => {
  using folder = temporaryFolder();
  await using service = await startTestService({ "backup-folder": folder.path });
  const scopes = ["operator", "plants:create"];
  const { secret: token } = await mintToken(service, { name: "reader", scopes });
  const requests = [
    ["GET", "/api/export"],
    ["GET", "/api/plants?after=0"],
    ["POST", "/api/imports?file=plants.csv"],
    ["POST", "/api/backups"],
  ] as const;
  for (const [method, path] of requests) {
    await eventually(async () => {
      await useUpLimit(service, token);
      return (await operatorFetch(service, path, { method, token })).status === 429;
    }, `429 for ${method} ${path}`);
  }
});

test("a download link that is refused for the limit still works later", async () => {
  await using service = await startWithBackups();
  const { name } = await service.makeBackup();
  const { secret: token } = await mintToken(service, { name: "reader", scopes: ["operator"] });
  for (const path of ["/api/exports", `/api/backups/${name}/link`]) {
    let link = "";
    await eventually(async () => {
      const { url } = await operatorPost<DownloadLinkJson>(service, path, {}, { token });
      link = service.operatorUrl + url;
      await useUpLimit(service, token);
      return (await fetch(link)).status === 429;
    }, `429 for a link of ${path}`);
    await eventually(async () => (await fetch(link)).status === 200, `200 for a link of ${path}`);
  }
});

test("changes of tokens do not count towards the limit", async () => {
  await using service = await startTestService();
  const { secret: token } = await mintToken(service, { name: "operator", scopes: ["operator"] });
  await useUpLimit(service, token);
  // In the time that these take, hardly one more action is allowed.
  for (let count = 0; count < 20; count++) {
    const minted = await mintToken(service, { name: `token ${count}` }, token);
    expect(minted.token.id).toBeString();
  }
});
