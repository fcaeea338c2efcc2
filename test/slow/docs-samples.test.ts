// The samples of the docs page in Python and Go.
import { describe, expect, test } from "bun:test";
import * as browser from "../support/browser.ts";
import { bodyOf, hostileName, programs, runRequest, sampleOf, tryItSample } from "../support/docs-samples.ts";
import { lacksProgram } from "../support/lacks.ts";
import { post } from "../support/post-plants.ts";
import { storedPlants } from "../support/stored-plants.ts";
import { startTestService } from "../support/test-service.ts";

// test/public/docs-page.test.ts runs those in curl and JavaScript.
describe.each(["python", "go"] as const)("the samples on the docs page in %s", (language) => {
  const program = programs[language];
  const isMissing = lacksProgram(program);

  test.skipIf(isMissing)("create a plant", async () => {
    await using service = await startTestService();
    const html = await (await fetch(`${service.url}/docs`)).text();
    const answer = await runRequest(language, sampleOf(html, "create", language));
    expect(answer).toBe('{"name":"Fern","tag":"indoor"}');
    expect(storedPlants(service.database)).toMatchObject([{ id: 1n, name: "Fern", tag: "indoor" }]);
  });

  test.skipIf(isMissing)("print a refusal", async () => {
    await using service = await startTestService();
    const html = await (await fetch(`${service.url}/docs`)).text();
    const sample = sampleOf(html, "create", language).replace('"id": 1', '"id": 1.5');
    expect(await runRequest(language, sample)).toStartWith('400 {"error":40012,');
  });

  test.skipIf(isMissing)("keep a large id exact", async () => {
    await using service = await startTestService();
    const html = await (await fetch(`${service.url}/docs`)).text();
    await post(
      service.url,
      (await bodyOf(language, sampleOf(html, "large", language))).replace(" <nil>", ""),
    );
    expect(storedPlants(service.database)).toMatchObject([{ id: 9007199254740993n, name: "Fern" }]);
  });

  test.skipIf(isMissing || browser.browserMissing)("send exactly the plant of the form", async () => {
    await using service = await startTestService();
    await using chromium = await browser.openBrowser();
    const page = await browser.newPage(chromium);
    await page.goto(`${service.url}/docs`);
    await runRequest(language, await tryItSample(page, language, "-9223372036854775808", hostileName));
    expect(storedPlants(service.database)).toMatchObject([
      { id: -9223372036854775808n, name: await page.getByLabel("name", { exact: true }).inputValue() },
    ]);
  });
});
