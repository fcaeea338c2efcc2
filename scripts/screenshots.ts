// The pictures of the console in docs/images/, from a store made for them: npm run screenshots
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { whyUnrecorded } from "../src/storage/sqlite/data-file/last-backup.ts";
import { hourMs } from "../src/text/duration.ts";
import { openBrowser } from "../test/support/browser.ts";
import { post } from "../test/support/post-plants.ts";
import { idOf, seedStore } from "../test/support/seeded-store.ts";
import { temporaryFolder } from "../test/support/temporary-folder.ts";
import { startTestService, type TestService } from "../test/support/test-service.ts";
import { bearer, operatorToken } from "../test/support/tokens.ts";

const plants = 400_000;
const hoursShown = 6 * 24;
const overviewPx = 1250;
const importedRows = 240;
const refusedRows = new Set([17, 101, 164]);
const schemes = ["light", "dark"] as const;
const folder = join(import.meta.dir, "../docs/images");

using temporary = temporaryFolder();
const database = join(temporary.path, "plants.db");
const nowMs = Date.now();
console.log(`Writing ${plants} plants into a temporary store.`);
seedStore(database, { plants, fromMs: nowMs - hoursShown * hourMs, untilMs: nowMs });
whyUnrecorded(database, { atMs: nowMs - 3 * hourMs, plants, coveredPlants: 0, digest: null });
await using service = await startTestService({ database });
const { secret, senders } = await makeTokens(service);
await refuse(service, senders);
mkdirSync(folder, { recursive: true });
const browser = await openBrowser();
// What is imported would be on the other pictures, so it comes last.
for (const scheme of schemes) await takePictures(browser, scheme, takeLooks);
for (const scheme of schemes) await takePictures(browser, scheme, takeImport);
await browser.close();

interface Camera {
  readonly page: Page;
  take(name: string, path: string, ready: string, act?: () => Promise<void>): Promise<void>;
}

async function takePictures(
  browser: Browser,
  colorScheme: "light" | "dark",
  shoot: (camera: Camera) => Promise<void>,
): Promise<void> {
  const context = await browser.newContext({
    viewport: { width: 1280, height: 800 },
    deviceScaleFactor: 1,
    colorScheme,
    reducedMotion: "reduce",
    timezoneId: "UTC",
  });
  const page = await context.newPage();
  await page.addInitScript(`sessionStorage.setItem("plant-store-token", ${JSON.stringify(secret)})`);
  const take: Camera["take"] = async (name, path, ready, act) => {
    await page.goto(service.operatorUrl + path);
    await page.locator(ready).first().waitFor();
    await act?.();
    await settle(page);
    await page.screenshot({ path: join(folder, `${name}-${colorScheme}.png`) });
    console.log(`docs/images/${name}-${colorScheme}.png`);
  };
  await shoot({ page, take });
  await context.close();
}

async function takeLooks({ page, take }: Camera): Promise<void> {
  await page.setViewportSize({ width: 1280, height: overviewPx });
  await take("overview", "/", ".latest a", () => page.getByRole("button", { name: "7 d" }).click());
  await page.setViewportSize({ width: 1280, height: 800 });
  await take("plants", "/plants?name=rosa", ".plants-table");
  await take("plant", "/plants", ".plants-table", async () => {
    await page.locator(".plants-table th a").nth(3).click();
    await page.locator(".facts").waitFor();
  });
  await take("tokens", "/tokens", ".tokens");
}

async function takeImport({ page, take }: Camera): Promise<void> {
  await take("import", "/import", ".drop", () => importFile(page));
}

async function importFile(page: Page): Promise<void> {
  const rows = Array.from({ length: importedRows }, (_, row) =>
    refusedRows.has(row) ? `{"name": "Seedling ${row}"}` : `{"id": ${row + 1}, "name": "Seedling ${row}"}`,
  );
  const file = {
    name: "spring.ndjson",
    mimeType: "application/x-ndjson",
    buffer: Buffer.from(rows.join("\n")),
  };
  await page.locator("input[type=file]").setInputFiles(file);
  await page.getByRole("button", { name: "Start import" }).click();
  await page.getByRole("heading", { name: "Done: spring.ndjson" }).waitFor();
  await page.locator(".refusal-group summary").click();
}

/** Requests of these senders that the public listener refuses, for several reasons. */
async function refuse({ url }: TestService, senders: readonly string[]): Promise<void> {
  const headersOf = (sent: number) => bearer(senders[sent % senders.length] ?? "");
  for (let sent = 0; sent < 88; sent++)
    await post(url, `{"id": ${idOf(sent + 1)}, "name": "Another plant"}`, headersOf(sent));
  for (let sent = 0; sent < 31; sent++) await post(url, `{"name": "Seedling ${sent}"}`, headersOf(0));
  for (let sent = 0; sent < 9; sent++)
    await post(url, "{}", { Authorization: "Bearer an-unknown-access-token" });
}

/** The tokens that the plants name, one of them revoked; returns the secret to sign in with, and some that send plants. */
async function makeTokens({ operatorUrl }: TestService): Promise<{ secret: string; senders: string[] }> {
  const call = async (path: string, body: unknown): Promise<{ token: { id: string }; secret: string }> => {
    const headers = { Authorization: `Bearer ${operatorToken}` };
    const answer = await fetch(operatorUrl + path, { method: "POST", headers, body: JSON.stringify(body) });
    return (await answer.json()) as { token: { id: string }; secret: string };
  };
  const { secret } = await call("/api/tokens", { name: "ops", scopes: ["operator", "plants:create"] });
  const greenhouse = await call("/api/tokens", {
    name: "greenhouse",
    scopes: ["plants:create"],
    expiresIn: "90d",
  });
  const nursery = await call("/api/tokens", {
    name: "nursery",
    scopes: ["plants:create"],
    expiresIn: "365d",
  });
  await call("/api/tokens", { name: "field-team", scopes: ["plants:create"] });
  const { token } = await call("/api/tokens", { name: "catalogue", scopes: ["plants:create"] });
  await call(`/api/tokens/${token.id}/revoke`, {});
  return { secret, senders: [greenhouse.secret, nursery.secret] };
}

/** Two frames without a visible change, with everything loaded. */
async function settle(page: Page): Promise<void> {
  await page.locator('[aria-busy="true"]').waitFor({ state: "detached" });
  await page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))");
}
