// A walk through the console, and to the docs page, in Firefox.
import { expect, test } from "bun:test";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { firefox } from "../../scripts/browsers.js";
import { hourMs } from "../../src/text/duration.ts";
import { start } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";
import { lacks } from "../support/lacks.ts";
import { mintToken } from "../support/operator-requests.ts";
import { seedStore } from "../support/seeded-store.ts";
import { storedPlants } from "../support/stored-plants.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { startTestService } from "../support/test-service.ts";

// Firefox calls several hosts of its maker. A proxy that refuses every connection keeps it on this machine, for which no proxy
// is used.
const preferences = {
  "network.proxy.type": 1,
  "network.proxy.http": "127.0.0.1",
  "network.proxy.http_port": 9,
  "network.proxy.ssl": "127.0.0.1",
  "network.proxy.ssl_port": 9,
  "ui.prefersReducedMotion": 1,
};
// 2^63 - 1: the largest id, which no double can represent.
const largestId = "9223372036854775807";
// As WebDriver names them.
const keys = { tab: "\uE004", enter: "\uE007", escape: "\uE00C" };

const axe = readFileSync(fileURLToPath(import.meta.resolve("axe-core/axe.min.js")), "utf8");
/** What axe-core finds wrong with the page, as text: WebDriver has a notation of its own for other values. */
const violations = `(async () => {
  if (!("axe" in window)) { ${axe} }
  const { violations } = await axe.run({ resultTypes: ["violations"] });
  return JSON.stringify(violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)]));
})()`;

test.skipIf(lacks("Firefox", !existsSync(firefox)))(
  "an operator with Firefox signs in, adds a plant, creates a token and imports a file, and axe-core finds no violations",
  async () => {
    using folder = temporaryFolder();
    const database = join(folder.path, "plants.db");
    seedStore(database, { plants: 600, fromMs: Date.now() - 2 * hourMs, untilMs: Date.now() });
    await using service = await startTestService({ database });
    const { secret } = await mintToken(service, { name: "ops", scopes: ["operator", "plants:create"] });
    await using page = await startFirefox(folder.path);
    const check = async (heading: string): Promise<void> => {
      await page.waitFor("h1", heading);
      expect(await page.evaluate(violations), heading).toBe("[]");
    };

    await page.open(service.operatorUrl);
    await page.waitFor("input.secret");
    expect(await page.evaluate("getComputedStyle(document.activeElement).webkitTextSecurity")).toBe("disc");
    await page.type(`${secret}${keys.enter}`);
    await page.waitFor(".plot path");
    await check("Overview");

    await page.click("button", "Add a plant");
    await page.type(`${largestId}${keys.tab}${keys.tab}Last fern, größer${keys.enter}`);
    await page.waitFor(".success", "The plant is stored.");
    expect(storedPlants(database).at(-1)).toMatchObject({ id: BigInt(largestId), name: "Last fern, größer" });
    await page.type(keys.escape);
    await page.click(".latest a", "Last fern, größer");
    expect(await page.waitFor(".facts .exact")).toBe(largestId);

    await page.click("nav a", "Plants");
    await page.waitFor(".plants-table tbody tr");
    await check("Plants");
    await page.click("button", "Show more");
    await page.waitFor(".plants-table tr:nth-child(120)");

    await page.click("nav a", "Tokens");
    await check("Tokens");
    await page.click("button", "Create a token");
    await page.type(`robot${keys.enter}`);
    await page.waitFor("dialog .secret", "pst_");
    await page.click("button", "Copy secret");
    await page.waitFor("button", "Copied");
    await page.click("button", "I have saved it");
    await page.waitFor("tr.live", "robot");

    const file = join(folder.path, "plants.csv");
    writeFileSync(file, 'id,name,tag\n71,"Oak, old",tree\n72x,Elm,\n71,"Oak, old",tree\n');
    await page.click("nav a", "Plants");
    await page.click(".page-head a", "Import");
    await check("Import");
    const sharedId = await page.evaluate("document.querySelector('input[type=file]')");
    await page.call("input.setFiles", { element: { sharedId }, files: [file] });
    await page.click("button", "Start import");
    await page.waitFor("h2", "Done: plants.csv");
    expect(await page.waitFor(".tally")).toBe("Created1Already stored1Refused1");

    for (const name of ["Refused", "System"]) {
      await page.click("nav a", name);
      await check(name);
    }
    await page.click(".page-head a", "Audit");
    await check("Audit");
    await page.open(`${service.url}/docs`);
    await check("");
    expect(page.errors).toEqual([]);
  },
  120_000,
);

// biome-ignore lint/suspicious/noExplicitAny: the results of the protocol
type Result = any;

/** Debian's Firefox, without a window, over WebDriver BiDi: Playwright needs a newer one. */
async function startFirefox(folder: string) {
  const lines = Object.entries(preferences).map(
    ([name, value]) => `user_pref("${name}", ${JSON.stringify(value)});\n`,
  );
  writeFileSync(join(folder, "user.js"), lines.join(""));
  const args = ["--headless", "--no-remote", "--profile", folder, "--remote-debugging-port=0"];
  await using cleanUp = new AsyncDisposableStack();
  // In a group of its own, with the processes that it starts.
  const program = cleanUp.use(start(firefox, args, { environment: { HOME: folder }, ownGroup: true }));
  const listening = /WebDriver BiDi listening on (ws:\S+)/;
  await eventually(() => listening.test(program.err()), "Firefox to listen");
  const [, address] = listening.exec(program.err()) ?? [];
  const errors: string[] = [];
  const pending: PromiseWithResolvers<Result>[] = [];
  const socket = new WebSocket(`${address}/session`);
  cleanUp.defer(() => socket.close());
  socket.onmessage = ({ data }) => {
    const { type, id, params, result, error, message } = JSON.parse(String(data));
    if (type === "error") pending[id]?.reject(new Error(`${error}: ${message}`));
    else if (type === "success") pending[id]?.resolve(result);
    else if (params.level === "error") errors.push(params.text);
  };
  await new Promise((resolve, reject) => {
    socket.onopen = resolve;
    socket.onerror = reject;
  });
  let context: string | undefined;
  const call = (method: string, params: object): Promise<Result> => {
    const waiting = Promise.withResolvers<Result>();
    const id = pending.push(waiting) - 1;
    socket.send(JSON.stringify({ id, method, params: context ? { context, ...params } : params }));
    return waiting.promise;
  };
  await call("session.new", { capabilities: {} });
  await call("session.subscribe", { events: ["log.entryAdded"] });
  context = (await call("browsingContext.getTree", {})).contexts[0].context;

  const evaluate = async (expression: string): Promise<Result> => {
    const params = { expression, target: { context }, awaitPromise: true, userActivation: true };
    const { result, exceptionDetails } = await call("script.evaluate", params);
    if (exceptionDetails !== undefined) throw new Error(exceptionDetails.text);
    return result.sharedId ?? result.value;
  };
  /** Waits for a visible element with that text, in the dialog that is open if one is, and returns what the code makes of it. */
  const find = async (selector: string, text: string, code: string): Promise<Result> => {
    let found: Result;
    await eventually(async () => {
      found = await evaluate(`(() => {
          const root = document.querySelector("dialog[open]") ?? document;
          const element = [...root.querySelectorAll(${JSON.stringify(selector)})].find(
            (one) => one.checkVisibility() && one.textContent.includes(${JSON.stringify(text)}));
          return element && !element.disabled && (${code});
        })()`);
      return Boolean(found);
    }, `${selector} ${text}`);
    return found;
  };
  const owned = cleanUp.move();
  return {
    errors,
    call,
    evaluate,
    open: (url: string) => call("browsingContext.navigate", { url, wait: "complete" }),
    /** Its text, or a space. */
    waitFor: (selector: string, text = "") => find(selector, text, 'element.textContent || " "'),
    click: (selector: string, text: string) => find(selector, text, "element.click() ?? true"),
    type: (text: string) => {
      const actions = [...text].flatMap((value) => [
        { type: "keyDown", value },
        { type: "keyUp", value },
      ]);
      return call("input.performActions", { actions: [{ type: "key", id: "keyboard", actions }] });
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
