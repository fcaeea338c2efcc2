// How many entries in the audit trail one caller may cause per minute.
import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import type { DownloadLinkJson } from "../../src/operator/responses.ts";
import { startWithBackups } from "../support/backups.ts";
import { advancedClock } from "../support/clock.ts";
import { eventually } from "../support/eventually.ts";
import { mintToken, operatorFetch, operatorPost } from "../support/operator-requests.ts";
import { startTestService, type TestService } from "../support/test-service.ts";

const actionsAtOnce = 60;

function signIn(service: TestService, token: string): Promise<Response> {
  return operatorFetch(service, "/api/sign-in", { method: "POST", token });
}

test("sign-ins beyond 60 per minute are refused with 42901, and leave no entry in the audit trail", async () => {
  await using service = await startTestService();
  const { secret: token } = await mintToken(service, { name: "reader", scopes: ["operator"] });
  const startedMs = performance.now();
  const responses = [];
  for (let count = 0; count < 3 * actionsAtOnce; count++) responses.push(await signIn(service, token));
  const seconds = (performance.now() - startedMs) / 1000;
  const accepted = responses.filter(({ status }) => status === 200).length;
  expect(accepted).toBeGreaterThanOrEqual(actionsAtOnce);
  expect(accepted).toBeLessThanOrEqual(actionsAtOnce + Math.ceil(seconds));
  using database = new Database(service.database, { readonly: true });
  const sql = "SELECT count(*) AS entries FROM audit_trail WHERE actor = 'reader'";
  expect(database.query(sql).get()).toEqual({ entries: accepted });

  const refused = responses.find(({ status }) => status !== 200);
  expect(refused?.status).toBe(429);
  expect(refused?.headers.get("retry-after")).toBe("1");
  expect(await refused?.json()).toMatchObject({ error: 42901 });
  // Changes of tokens do not count. In the time that these take, hardly one more action is allowed.
  for (let count = 0; count < 20; count++) await mintToken(service, { name: `token ${count}` }, token);
});

test("a download link that is refused for the same limit still works later", async () => {
  await using service = await startWithBackups();
  using clock = advancedClock();
  const { name } = await service.makeBackup();
  const { secret: token } = await mintToken(service, { name: "reader", scopes: ["operator"] });
  for (const path of ["/api/exports", `/api/backups/${name}/link`]) {
    let link = "";
    await eventually(async () => {
      const { url } = await operatorPost<DownloadLinkJson>(service, path, {}, { token });
      link = service.operatorUrl + url;
      // On a slow machine, some of the limit is free again meanwhile.
      await eventually(async () => (await signIn(service, token)).status === 429, "the limit", 0);
      return (await fetch(link)).status === 429;
    }, `429 for a link of ${path}`);
    clock.advance(2000);
    expect((await fetch(link)).status).toBe(200);
  }
});
