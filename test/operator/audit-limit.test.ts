// How many entries in the audit trail one caller may cause per minute.
import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import type { DownloadLinkJson } from "../../src/operator/responses.ts";
import { type ServiceWithBackups, startWithBackups } from "../support/backups.ts";
import { eventually } from "../support/eventually.ts";
import { mintToken, operatorFetch, operatorPost } from "../support/operator-requests.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { startTestService, type TestService } from "../support/test-service.ts";

const actionsAtOnce = 60;

function signIn(service: TestService, token: string): Promise<Response> {
  return operatorFetch(service, "/api/sign-in", { method: "POST", token });
}

function entriesOf(service: TestService, actor: string): number {
  using database = new Database(service.database, { readonly: true });
  const sql = "SELECT count(*) AS entries FROM audit_trail WHERE actor = ?";
  return database.query<{ entries: number }, [string]>(sql).get(actor)?.entries ?? 0;
}

describe("sign-ins beyond 60 per minute", () => {
  /** Signs in three times as often. */
  async function signInTooOften(service: TestService) {
    const { secret: token } = await mintToken(service, { name: "reader", scopes: ["operator:read"] });
    const startedMs = performance.now();
    const responses = [];
    for (let count = 0; count < 3 * actionsAtOnce; count++) responses.push(await signIn(service, token));
    const seconds = (performance.now() - startedMs) / 1000;
    const accepted = responses.filter(({ status }) => status === 200).length;
    expect(accepted).toBeGreaterThanOrEqual(actionsAtOnce);
    expect(accepted).toBeLessThanOrEqual(actionsAtOnce + Math.ceil(seconds));
    return { accepted, refused: responses.find(({ status }) => status !== 200) };
  }

  test("are refused with 42901", async () => {
    await using service = await startTestService();
    const { refused } = await signInTooOften(service);
    expect(refused?.status).toBe(429);
    expect(refused?.headers.get("retry-after")).toBe("1");
    expect(await refused?.json()).toMatchObject({ error: 42901 });
  });

  test("leave no entry in the audit trail", async () => {
    await using service = await startTestService();
    const { accepted } = await signInTooOften(service);
    expect(entriesOf(service, "reader")).toBe(accepted);
  });
});

test.each([
  ["an export", "GET", "/api/export"],
  ["reading from the beginning", "GET", "/api/plants?after=0"],
  ["an import", "POST", "/api/imports?file=plants.csv"],
  ["a backup", "POST", "/api/backups"],
])("%s counts towards the same limit as a sign-in", async (_, method, path) => {
  using folder = temporaryFolder();
  await using service = await startTestService({ "backup-folder": folder.path });
  const { secret: token } = await mintToken(service, {
    name: "reader",
    scopes: ["operator", "plants:create"],
  });
  for (let count = 0; count < actionsAtOnce; count++) await signIn(service, token);
  // On a slow machine some of the limit may be free again: then it is used up first.
  await eventually(async () => {
    expect((await signIn(service, token)).status).toBe(429);
    expect((await operatorFetch(service, path, { method, token })).status).toBe(429);
    return true;
  });
});

describe("a download link that is refused for the limit still works later", () => {
  type Sender = { readonly token: string };
  const links: Record<string, (service: ServiceWithBackups, sender: Sender) => Promise<DownloadLinkJson>> = {
    "of an export": (service, sender) => operatorPost(service, "/api/exports", {}, sender),
    "of a backup": async (service, sender) => {
      const { name } = await service.onlyBackup();
      return operatorPost(service, `/api/backups/${name}/link`, {}, sender);
    },
  };

  test.each(Object.entries(links))("%s", async (_, createLink) => {
    await using service = await startWithBackups();
    await service.makeBackup();
    const { secret: token } = await mintToken(service, { name: "reader", scopes: ["operator"] });
    let link = "";
    for (let count = 0; count < actionsAtOnce; count++) await signIn(service, token);
    // On a slow machine some of the limit may be free again: then it is used up first.
    await eventually(async () => {
      link = service.operatorUrl + (await createLink(service, { token })).url;
      expect((await signIn(service, token)).status).toBe(429);
      expect((await fetch(link)).status).toBe(429);
      return true;
    });
    let status = 429;
    await eventually(async () => {
      status = (await fetch(link)).status;
      return status !== 429;
    });
    expect(status).toBe(200);
  });
});

test("changes of tokens do not count towards the limit", async () => {
  await using service = await startTestService();
  for (let count = 0; count <= 2 * actionsAtOnce; count++) {
    const { token } = await mintToken(service, { name: `token ${count}` });
    expect(token.id).toBeString();
  }
});
