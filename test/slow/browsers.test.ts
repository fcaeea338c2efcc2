import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { type BrowserName, missingPrograms } from "../../scripts/browsers.js";
import type { BrowserDriver } from "../browser-driver.ts";
import { type FlowContext, flows, leave } from "../browser-flows.ts";
import { looks } from "../browser-looks.ts";
import { makeToken } from "../console-session.ts";
import { DrivenPage } from "../driven-page.ts";
import { startFirefox } from "../firefox.ts";
import { startTestService, type TestService, temporaryFolder } from "../harness.ts";
import { lacks } from "../lacks.ts";
import { seedStore } from "../seeded-store.ts";
import { startWebKit } from "../webkit.ts";

const plants = 600;
const flowMs = 120_000;
const start: Readonly<Record<BrowserName, () => Promise<BrowserDriver>>> = {
  Firefox: startFirefox,
  WebKit: startWebKit,
};

for (const name of ["Firefox", "WebKit"] as const)
  describe.skipIf(lacks(name, missingPrograms(name).length > 0))(`an operator with ${name}`, () => {
    const folder = temporaryFolder();
    const started: { driver?: BrowserDriver; running?: TestService; context?: FlowContext } = {};

    beforeAll(async () => {
      const database = join(folder.path, "plants.db");
      const untilMs = Date.now() - 60_000;
      await seedStore(database, { plants, fromMs: untilMs - 7_200_000, untilMs });
      const running = await startTestService({}, database);
      started.running = running;
      const secret = await makeToken(running, "ops", ["operator", "plants:create"]);
      started.driver = await start[name]();
      await started.driver.resize(1280, 800);
      const page = new DrivenPage(started.driver, running.operatorUrl);
      started.context = { page, running, secret, folder: folder.path };
    }, flowMs);
    afterAll(async () => {
      await started.driver?.[Symbol.asyncDispose]();
      await started.running?.[Symbol.asyncDispose]();
      folder[Symbol.dispose]();
    }, flowMs);

    for (const flow of [...flows, ...looks, leave])
      test(
        flow.name,
        async () => {
          if (started.context === undefined) throw new Error("the browser did not start");
          await flow.run(started.context);
          expect(await started.context.page.takeErrors()).toEqual([]);
        },
        flowMs,
      );
  });
