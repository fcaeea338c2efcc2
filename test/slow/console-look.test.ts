// How the console looks: in light and dark, from a phone to a wide screen, and for axe-core.
import { expect } from "bun:test";
import { chromium, type Page } from "playwright-core";
import { axeViolations, chromiumOptions, describe, newPage, test } from "../support/browser.ts";
import { useConsole, waitForHeading } from "../support/console-session.ts";
import { eventually } from "../support/eventually.ts";
import { startProvider } from "../support/identity-provider.ts";
import { mintToken } from "../support/operator-requests.ts";
import { post } from "../support/post-plants.ts";
import { startTcpProxy } from "../support/tcp-proxy.ts";
import { startTestService } from "../support/test-service.ts";
import { bearer } from "../support/tokens.ts";

const session = useConsole(600);
const { open } = session;

const widthsPx = [360, 768, 1024, 2560, 1280];
const longName = "a-name-that-someone-made-as-long-as-a-name-may-be-and-longer-123";

const follow = (page: Page, link: string) =>
  page.getByRole("link", { name: link, exact: true }).first().click();
const press = (page: Page, button: string) => page.getByRole("button", { name: button, exact: true }).click();

// What does not fit: a page wider than the window, an element wider than its box, a panel or the account out of view.
const misfits = `(() => {
  // By how far the button of an icon may reach into the padding around it.
  const outdentPx = 9;
  const isIn = ({ left, right }) => left >= 0 && right <= innerWidth;
  const boxes = [...(document.querySelector("dialog[open]") ?? document).querySelectorAll("body *")];
  const misfits = boxes.filter((box) => {
    if (box.matches(".popover-panel, .who, .light")) return !isIn(box.getBoundingClientRect());
    if (!box.checkVisibility() || box.closest(".visually-hidden, svg, .account")) return false;
    const { display, overflowX } = getComputedStyle(box);
    const mustFit = overflowX === "visible" && display !== "inline" && box.querySelector(".popover-panel") === null;
    // The foot of a dialog reaches from edge to edge of it.
    const around = box.querySelector(":scope > .dialog-foot") === null ? box : box.closest("dialog");
    return mustFit && around.scrollWidth > around.clientWidth + (around === box ? outdentPx : 0);
  });
  if (document.documentElement.scrollWidth > innerWidth) misfits.push(document.documentElement);
  return misfits.map((box) => box.outerHTML.slice(0, 120));
})()`;

/** Checks what the page shows once this element is there. */
async function check(page: Page, ready: string): Promise<void> {
  await page.locator(ready).first().waitFor();
  // What is around a dialog has been checked without it.
  const checked = ready.startsWith("dialog") ? "dialog" : "html";
  expect(await axeViolations(page, checked), ready).toEqual([]);
  // Only the colours differ in the dark theme.
  await page.emulateMedia({ colorScheme: "dark" });
  const dark = await axeViolations(page, checked, { runOnly: ["color-contrast"] });
  expect(dark, `${ready}, dark`).toEqual([]);
  await page.emulateMedia({ colorScheme: "light" });
  for (const width of widthsPx) {
    await page.setViewportSize({ width, height: 800 });
    await page.evaluate("new Promise(requestAnimationFrame)");
    expect(await page.evaluate(misfits), `${ready}, ${width} px wide`).toEqual([]);
  }
}

// Several pages in each test: loading the console and axe-core is what takes time.
describe("axe-core finds no violations, and everything fits from a phone to a wide screen:", () => {
  let longNamed: ReturnType<typeof mintToken> | undefined;
  async function openPage(path: string, token?: string, crashes = false): Promise<Page> {
    const scopes = ["operator", "plants:create"];
    longNamed ??= mintToken(session.service, { name: longName, scopes });
    const { secret } = await longNamed;
    return open(path, { token: token ?? secret, crashes });
  }

  test("signing in", async () => check(await openPage("/", ""), ".sign-in form"));

  test("signing in with an identity provider", async () => {
    await using provider = await startProvider();
    await using service = await startTestService({ ...provider.flags, "oidc-client-id": "console" });
    const page = await open("/", { token: "", origin: service.operatorUrl });
    await check(page, "text=Sign in with");
  });

  test("the overview, with a large number, the audit trail and the system", async () => {
    const page = await openPage("/");
    await page.route("**/api/overview", async (route) => {
      const overview = (await (await route.fetch()).json()) as object;
      await route.fulfill({ json: { ...overview, total: "1234567890" } });
    });
    await page.reload();
    await page.locator(".latest a").first().waitFor();
    await check(page, "text=1,234,567,890");
    await page.unrouteAll({ behavior: "wait" });
    await follow(page, "Audit");
    await check(page, ".audit");
    await press(page, "Filter");
    await check(page, ".popover-panel");
    await page.keyboard.press("Escape");
    await follow(page, "System");
    await check(page, ".system-table code");
  });

  test("the refused requests, and a search for one that was not", async () => {
    const { url } = session.service;
    const { secret } = await mintToken(session.service, {
      name: `${longName}4`.slice(1),
      scopes: ["plants:create"],
    });
    await post(
      url,
      JSON.stringify({ id: "A long text that is no number, and is not shown whole", name: 7 }),
      bearer(secret),
    );
    await post(url, "[]", {
      "X-Request-Id": "an-id-of-64-characters ".repeat(3).replaceAll(" ", "*").slice(0, 64),
    });
    await fetch(`${url}/plants`, { method: "POST" });
    const page = await openPage("/refused");
    await check(page, ".refusals");
    await page.goto(`${session.service.operatorUrl}/refused?error=40020`);
    await check(page, ".empty");
  });

  test("the plants, the formats of an export, adding a plant, and searches for nothing and for an id", async () => {
    const page = await openPage("/plants");
    await check(page, ".rows .row");
    await press(page, "Export");
    await check(page, ".popover-panel");
    await press(page, "Add a plant");
    await press(page, "Add plant");
    await check(page, "dialog .field-error");
    await page.keyboard.press("Escape");
    await page.getByLabel("Search by name or id").fill("zzz");
    await check(page, ".empty");
    const name = "A name that takes more than the line it is on, however wide the screen may be ".repeat(3);
    await post(session.service.url, JSON.stringify({ id: Number.MIN_SAFE_INTEGER, name, tag: longName }));
    await page.getByLabel("Search by name or id").fill(String(Number.MIN_SAFE_INTEGER));
    await check(page, ".id-match a");
  });

  test("a filter, a name that cannot be seen, and a long one", async () => {
    for (const [id, name] of ["\u202e  ", "x".repeat(60_000)].entries())
      await post(session.service.url, JSON.stringify({ id: id - 9, name, tag: "odd" }));
    const page = await openPage("/plants?tag=odd");
    await page.locator(".rows .cell-name a").nth(1).waitFor();
    const position = { x: 20, y: 10 };
    await page.locator(".rows .row").first().click({ position });
    await page.locator(".facts").waitFor();
    await press(page, "Filter");
    await check(page, ".popover-panel");
    await page.goto(`${session.service.operatorUrl}/plants?since=${"x".repeat(200)}`);
    await check(page, ".empty");
  });

  test("a page that the token may not use", async () => {
    const { secret } = await mintToken(session.service, { name: "reader", scopes: ["operator:read"] });
    await check(await openPage("/audit", secret), ".empty");
  });

  test("a chosen file, one that was only checked, and one that cannot be read", async () => {
    const page = await openPage("/import");
    const choose = async (name: string, text: string) => {
      const file = { name, mimeType: "text/plain", buffer: Buffer.from(text) };
      await page.locator("input[type=file]").setInputFiles(file);
    };
    const rows = [
      `${Number.MIN_SAFE_INTEGER};${"A long name ".repeat(30)};${longName}`,
      "x;Elm;",
      "3;Oak;tree",
    ];
    await choose(`${longName}.csv`, `id;name;tag\n${rows.join("\n")}\n`);
    await check(page, "text=3 rows");
    await press(page, "Check only");
    await page.locator(".refusal-group summary").click();
    await check(page, ".refusal-group table");
    await press(page, "Choose another file");
    await choose("no-ids.csv", "name\nFern\n");
    await check(page, ".error-notice");
  });

  test("an import with a refused row", async () => {
    const page = await openPage("/import");
    const buffer = Buffer.from('{"id": 1, "name": "One"}\n{"name": "No id"}\n');
    const file = { name: "two.ndjson", mimeType: "text/plain", buffer };
    await page.locator("input[type=file]").setInputFiles(file);
    await press(page, "Start import");
    await waitForHeading(page, "Done: two.ndjson");
    await check(page, ".tally");
    await page.locator(".refusal-group summary").click();
    await check(page, ".refusal-group table");
  });

  test("a page that cannot be read", async () => {
    const page = await openPage("/audit");
    const json = { error: 50302, message: "The store cannot be read right now." };
    await page.route("**/api/overview", (route) => route.fulfill({ status: 503, json }));
    await follow(page, "Overview");
    await check(page, ".error-notice");
  });

  test("a page that crashed", async () => {
    const page = await openPage("/audit", undefined, true);
    await page.route("**/api/tokens", (route) => route.fulfill({ json: { tokens: [{}] } }));
    await follow(page, "Tokens");
    await check(page, "text=This page stopped working");
  });

  test("the tokens, rotating, revoking and creating one, and its secret", async () => {
    const page = await openPage("/tokens");
    await check(page, ".tokens");
    await press(page, `Rotate ${longName}`);
    await check(page, "dialog");
    await page.keyboard.press("Escape");
    await press(page, `Revoke ${longName}`);
    await check(page, "dialog .danger");
    await page.keyboard.press("Escape");
    await press(page, "Create a token");
    await check(page, "dialog fieldset");
    await page.getByRole("dialog").getByLabel("Name").fill("scene");
    await page.keyboard.press("Enter");
    await check(page, "dialog pre.secret");
  });
});

test("the table has whole rows that do not overlap, at any width", async () => {
  const page = await open("/plants");
  await page.locator(".rows .row").first().waitFor();
  for (const width of [...widthsPx, 767]) {
    await page.setViewportSize({ width, height: 777 });
    await eventually(async () => (await page.evaluate(tableFault)) === "", `whole rows at ${width} px`);
  }
});

// What is wrong with the rows, or "".
const tableFault = `(() => {
  const boxOf = (element) => element.getBoundingClientRect();
  const body = boxOf(document.querySelector(".table-body"));
  const rows = [...document.querySelectorAll(".rows .row")].map(boxOf).sort((a, b) => a.top - b.top);
  if (rows.some(({ top }, at) => at > 0 && Math.abs(top - rows[at - 1].bottom) > 0.5)) return "overlap";
  const cells = [...document.querySelectorAll(".rows .row > span")];
  if (cells.some((cell) => boxOf(cell).bottom > boxOf(cell.parentElement).bottom + 0.5)) return "a cell leaves its row";
  const seen = rows.filter(({ top, bottom }) => bottom > body.top + 0.5 && top < body.bottom - 0.5);
  if (seen.length < 3) return "few rows";
  return seen.some(({ top, bottom }) => top < body.top - 0.5 || bottom > body.bottom + 0.5) ? "cut row" : "";
})()`;

test("a dialog darkens the page up to its edge where scrollbars take space", async () => {
  await using browser = await chromium.launch({
    ...chromiumOptions(),
    ignoreDefaultArgs: ["--hide-scrollbars"],
  });
  const page = await newPage(browser, { viewport: { width: 1280, height: 900 } });
  await page.goto(`${session.service.operatorUrl}/livez`);
  await page.evaluate(`sessionStorage.setItem("plant-store-token", ${JSON.stringify(session.secret)})`);
  await page.goto(`${session.service.operatorUrl}/plants`);
  await page.getByRole("button", { name: "Add a plant" }).click();
  await page.getByRole("dialog").waitFor();
  const gutterPx = await page.evaluate<number>("innerWidth - document.body.offsetWidth");
  expect(gutterPx).toBeGreaterThanOrEqual(8);
  const pixels = (x: number) => page.screenshot({ clip: { x, y: 2, width: 8, height: 8 } });
  expect(await pixels(1280 - 8)).toEqual(await pixels(1280 - 8 - gutterPx));
});

test("a service that hangs is not connected, even on a page that asks for nothing", async () => {
  await using service = await startTestService();
  using proxy = await startTcpProxy(Number(new URL(service.operatorUrl).port));
  const { secret: token } = await mintToken(service, { name: "ops", scopes: ["operator", "plants:create"] });
  const page = await open("/import", { token, origin: `http://127.0.0.1:${proxy.port}`, alone: true });
  await page.getByText("Connected", { exact: true }).waitFor();
  proxy.cut();
  await page.getByText("No response", { exact: true }).waitFor();
  await page.locator(".offline").waitFor();
  proxy.restore();
  await page.getByText("Connected", { exact: true }).waitFor();
  await page.locator(".offline").waitFor({ state: "detached" });
});
