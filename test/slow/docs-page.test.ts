import { afterAll, beforeAll, expect } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import axe, { type AxeResults } from "axe-core";
import type { Browser } from "playwright-core";
import { browserMissing, openBrowser, test } from "../browser.ts";
import { openDocs } from "../docs-page.ts";
import {
  accessToken,
  startTestService,
  storedPlants,
  type TestService,
  temporaryFolder,
} from "../harness.ts";

let running: TestService;
let browser: Browser;
beforeAll(async () => {
  if (browserMissing) return;
  running = await startTestService();
  browser = await openBrowser();
});
afterAll(async () => {
  await browser?.close();
  await running?.[Symbol.asyncDispose]();
});

test("the docs page shows complete programs with the reader's token, which is hidden on the screen", async () => {
  const { page, pageErrors } = await openDocs(browser, running.url);
  await page.getByLabel("Access token").fill(accessToken);
  await page.getByLabel("name", { exact: true }).fill('O\'Fern "quoted" \\ `$x` 🌱');
  using folder = temporaryFolder();
  const programs = [
    { language: "curl", file: "run.sh", run: ["sh"] },
    { language: "JavaScript", file: "run.mjs", run: [process.execPath] },
    { language: "Python", file: "run.py", run: ["python3"] },
    { language: "Go", file: "run.go", run: ["go", "vet"] },
  ];
  for (const [index, { language, file, run }] of programs.entries()) {
    const id = 9107199254740993n + BigInt(index);
    await page.getByLabel("id", { exact: true }).fill(String(id));
    await page.getByRole("button", { name: language }).click();
    const program = (await page.locator("#command").textContent()) ?? "";
    expect(program).toContain(`Bearer ${accessToken}`);
    expect(program).toContain(`${running.url}/plants`);
    // The language is not installed everywhere.
    if (Bun.which(run[0] ?? "") === null) continue;
    writeFileSync(join(folder.path, file), program);
    const child = Bun.spawn([...run, file], { cwd: folder.path, stderr: "pipe" });
    const [printed, errors] = await Promise.all([
      new Response(child.stdout).text(),
      new Response(child.stderr).text(),
    ]);
    // The progress that curl prints is not an error.
    expect([await child.exited, language === "curl" ? "" : errors]).toEqual([0, ""]);
    if (language === "Go") continue;
    expect(printed).toContain('{"name":"O\'Fern \\"quoted\\" \\\\ `$x` 🌱"}');
    expect(storedPlants(running.database).some((plant) => plant.id === id)).toBe(true);
  }
  expect(await page.locator("#command .secret").textContent()).toBe(accessToken);
  expect(await page.locator("#large").textContent()).toBe("Ids beyond 253");
  expect(pageErrors).toEqual([]);
});

for (const width of [360, 768, 1440, 2560])
  for (const dark of [false, true])
    test(`the docs page fits, and axe finds nothing, at ${width} px in the ${dark ? "dark" : "light"} theme`, async () => {
      const { page, pageErrors } = await openDocs(browser, running.url, { width, dark });
      expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(width);
      expect(pageErrors).toEqual([]);
      await page.evaluate(axe.source);
      const { violations } = (await page.evaluate("axe.run()")) as AxeResults;
      expect(violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)])).toEqual([]);
    });
