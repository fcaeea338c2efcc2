import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { openBrowser } from "../test/browser.ts";
import { operatorToken, startTestService, temporaryFolder } from "../test/harness.ts";
import { seedStore } from "../test/seeded-store.ts";
const out = "/tmp/scratch-work/shots";
const only = process.argv.slice(2);
using temporary = temporaryFolder();
const database = join(temporary.path, "plants.db");
const nowMs = Date.now();
await seedStore(database, { plants: 60_000, fromMs: nowMs - 6 * 86400_000, untilMs: nowMs - 60_000 });
mkdirSync(join(temporary.path, "backups"));
await using running = await startTestService({ "backup-folder": join(temporary.path, "backups") }, database);
const H = { Authorization: `Bearer ${operatorToken}` };
const call = async (p: string, body: unknown) => (await (await fetch(running.operatorUrl + p, { method: "POST", headers: H, body: JSON.stringify(body) })).json()) as any;
const { secret } = await call("/api/tokens", { name: "ops", scopes: ["operator", "plants:create"] });
const { secret: gh } = await call("/api/tokens", { name: "greenhouse", scopes: ["plants:create"], expiresIn: "90d" });
await call("/api/tokens", { name: "nursery", scopes: ["plants:create"] });
for (let i = 0; i < 40; i++) await fetch(running.url + "/plants", { method: "POST", headers: { Authorization: `Bearer ${gh}`, "Content-Type": "application/json" }, body: i % 4 === 0 ? '{"name":"x"}' : `{"id":${9e6 + i},"name":"Fern ${i}"}` });
await fetch(running.url + "/plants", { method: "POST", headers: { Authorization: `Bearer nope`, "Content-Type": "application/json" }, body: "{}" });
for (let i = 0; i < 2; i++) { await call("/api/backups", {}); await Bun.sleep(1500); }
const browser = await openBrowser();
for (const scheme of ["light", "dark"] as const)
  for (const width of [360, 768, 1440, 2560]) {
    const context = await browser.newContext({ viewport: { width, height: width === 360 ? 740 : 900 }, colorScheme: scheme, reducedMotion: "reduce", timezoneId: "UTC" });
    const page = await context.newPage();
    await page.addInitScript(`sessionStorage.setItem("plant-store-token", ${JSON.stringify(secret)})`);
    const go = async (name: string, path: string, ready: string, act?: () => Promise<void>, fullPage = false) => {
      if (only.length && !only.includes(name)) return;
      if (page.url().startsWith("http")) await page.evaluate("for (const k of Object.keys(sessionStorage)) if (k.includes(\"draft\")) sessionStorage.removeItem(k)");
      await page.goto(running.operatorUrl + path);
      await page.locator(ready).first().waitFor();
      await act?.();
      await page.waitForTimeout(250);
      await page.screenshot({ path: `${out}/${name}-${width}-${scheme}.png`, fullPage });
    };
    await go("overview", "/", ".bars a", undefined, true);
    await go("week", "/", ".bars a", async () => { await page.getByRole("button", { name: "7 d" }).click(); });
    await go("system", "/system", ".system-table code", undefined, true);
    await go("plants", "/plants?name=e", ".rows .row", async () => { const b = page.getByRole("button", { name: "Count all" }); if (await b.count()) await b.click(); });
    await go("tokens", "/tokens", ".tokens", async () => { await page.waitForTimeout(500); });
    await go("audit", "/audit", ".tokens");
    await go("jump", "/plants", ".rows .row", async () => { const c = page.getByRole("button", { name: "Created", exact: true }); await c.click(); });
    await go("add", "/plants", ".rows .row", async () => { await page.getByRole("button", { name: "Add a plant" }).click(); await page.getByLabel("Id", { exact: true }).last().fill("77"); await page.keyboard.press("Enter"); });
    await go("secret", "/tokens", ".tokens", async () => { await page.getByRole("button", { name: "Create a token" }).click(); await page.getByLabel("Name").fill("shot" + width + scheme); await page.keyboard.press("Enter"); await page.getByText("Copy it now").waitFor(); await page.keyboard.press("Escape"); });
    await go("import", "/import", ".drop", async () => {
      const rows = Array.from({ length: 400 }, (_, r) => r % 50 === 7 ? `x;Seed ${r};` : `${r + 1};Seed ${r};spring`);
      await page.locator("input[type=file]").setInputFiles({ name: "spring.csv", mimeType: "text/csv", buffer: Buffer.from("id;name;tag\n" + rows.join("\n")) });
      await page.getByRole("button", { name: "Start import" }).click();
      await page.getByRole("heading", { name: "Done: spring.csv" }).waitFor();
    }, true);
    await go("indicator", "/import", ".drop", async () => {
      await page.route("**/api/imports?*", async (r) => { await Bun.sleep(700); await r.continue(); });
      const rows = Array.from({ length: 60000 }, (_, r) => `{"id":${r + 1},"name":"Seed ${r}"}`);
      await page.locator("input[type=file]").setInputFiles({ name: "spring.ndjson", mimeType: "text/csv", buffer: Buffer.from(rows.join("\n")) });
      await page.getByRole("button", { name: "Start import" }).click();
      await page.getByRole("link", { name: "Plants" }).click();
      await page.locator(".import-indicator").waitFor();
      await page.waitForTimeout(900);
    });
    await context.close();
  }
await browser.close();
