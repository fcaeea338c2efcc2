// The console's pages in a browser, but for those that have a file of their own beside this one.
import { afterAll, expect } from "bun:test";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { chromium, type Locator, type Page } from "playwright-core";
import packageFile from "../../package.json" with { type: "json" };
import { recordLastBackup } from "../../src/storage/sqlite/maintenance/backup-records.ts";
import {
  chromiumOptions,
  contentOf,
  copiedBy,
  describe,
  newPage,
  secretField,
  test,
} from "../support/browser.ts";
import { see, signIn, useConsole, waitUntil } from "../support/console-session.ts";
import { mintToken, operatorFetch, operatorPost } from "../support/operator-requests.ts";
import { post } from "../support/post-plants.ts";
import { storedPlants } from "../support/stored-plants.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { startTestService } from "../support/test-service.ts";
import { accessToken, bearer, operatorToken } from "../support/tokens.ts";

// With a full block, so that a backup has a digest.
const seeded = 1100;
const unsafeId = "9007199254740993";
const folder = temporaryFolder();
const backupFolder = join(folder.path, "backups");
mkdirSync(backupFolder);
afterAll(() => folder[Symbol.dispose]());
const session = useConsole(seeded, { "backup-folder": backupFolder });
const { open } = session;

const find = (id: bigint) => storedPlants(session.running.database).find((plant) => plant.id === id);
const heading = (page: Page, name: string) => page.getByRole("heading", { name, level: 1 }).waitFor();
const textOf = async (page: Page, selector: string) => (await page.locator(selector).textContent()) ?? "";
const focusedText = (page: Page) => page.evaluate<string>("document.activeElement.textContent.trim()");
const isFocused = (element: Locator) => element.evaluate((node) => node.ownerDocument.activeElement === node);
const secretOf = (page: Page) => textOf(page, "pre.secret");

/** A script for a browser that refuses to keep anything there, as Chromium does where all cookies are blocked. */
const noStorage = (area: "localStorage" | "sessionStorage") => `Object.defineProperty(window, "${area}", {
  get() { throw new DOMException("Access is denied for this document.", "SecurityError"); },
})`;

async function statusWith(secret: string): Promise<number> {
  const headers = bearer(secret);
  return (await post(session.running.url, '{"id":91,"name":"By robot"}', headers)).status;
}

describe("signing in", () => {
  test.each([
    ["without a token", "", "Enter a token"],
    ["with what is no token", "schlüssel", "unknown, expired or revoked"],
    ["with a token that lacks the scope", accessToken, "lacks the scope “operator:read”"],
  ])("%s is refused at the field", async (_, token, reason) => {
    const page = await open("/", { token: "" });
    await page.getByLabel("Token").fill(token);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.locator(".field-error").waitFor();
    expect(await textOf(page, ".field-error")).toContain(reason);
    expect(await page.getByLabel("Token").getAttribute("aria-invalid")).toBe("true");
  });

  test("with an earlier token that is refused says so once", async () => {
    const page = await open("/", { token: "an-earlier-token" });
    await page.locator(".field-error").waitFor();
    expect((await textOf(page, ".sign-in form")).split("unknown, expired or revoked")).toHaveLength(2);
  });

  test("with an earlier token that is refused removes it from the browser", async () => {
    const page = await open("/", { token: "an-earlier-token" });
    await page.locator(".field-error").waitFor();
    expect(await page.evaluate("sessionStorage.length")).toBe(0);
  });

  test("hides the token that is entered", async () => {
    const page = await open("/", { token: "" });
    expect(await secretField(page, "Token")).toEqual({ type: "text", autocomplete: "off", shown: "disc" });
  });

  test("shows how to create a token", async () => {
    const page = await open("/", { token: "" });
    const command = await textOf(page, ".how .code");
    expect(command).toContain("--name ops --scope operator");
    expect(await copiedBy(page.getByRole("button", { name: "Copy command" }))).toBe(command);
  });

  test("too often says when to try again", async () => {
    const { secret } = await mintToken(session.running, { name: "impatient", scopes: ["operator:read"] });
    const page = await open("/", { token: "" });
    await page.route("**/api/sign-in", async (route) => {
      let response = await route.fetch();
      while (response.ok()) response = await route.fetch();
      await route.fulfill({ response });
    });
    await signIn(page, secret);
    await page.locator(".field-error").waitFor();
    expect(await textOf(page, ".field-error")).toMatch(/limit of 60 actions per minute.* Try again in 1 s\./);
  });

  test("opens the requested page", async () => {
    const page = await open("/tokens", { token: "" });
    await signIn(page, session.secret);
    await heading(page, "Tokens");
  });

  test("is the newest entry of the audit trail", async () => {
    const page = await open("/audit", { token: "" });
    await signIn(page, session.secret);
    const newest = page.locator(".audit tbody tr").first();
    await newest.waitFor();
    expect(await newest.textContent()).toMatch(
      /ops signed in to the console with operator, plants:create.*127\.0\.0\.1/s,
    );
  });

  test("lasts across a reload", async () => {
    const page = await open("/tokens", { token: "" });
    await signIn(page, session.secret);
    await heading(page, "Tokens");
    await page.reload();
    await heading(page, "Tokens");
  });

  test("lasts until the user signs out", async () => {
    const page = await open("/");
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByLabel("Token").waitFor();
    expect(await page.evaluate("sessionStorage.length")).toBe(0);
  });

  test("lasts until the next load in a browser that keeps nothing", async () => {
    const page = await open("/", { alone: true, token: "" });
    await page.addInitScript(noStorage("sessionStorage"));
    await page.reload();
    await signIn(page, session.secret);
    await heading(page, "Overview");
    await page.getByRole("link", { name: "Tokens" }).click();
    await heading(page, "Tokens");
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByLabel("Token").waitFor();
    await page.context().close();
  });
});

describe("someone with a token that only reads", () => {
  async function openAsReader(path: string): Promise<Page> {
    const name = `reader ${crypto.randomUUID()}`;
    const { secret } = await mintToken(session.running, { name, scopes: ["operator:read"] });
    return open(path, { token: secret });
  }

  test("gets links to the overview and the plants alone", async () => {
    const page = await openAsReader("/plants");
    await page.locator(".rows .row").first().waitFor();
    expect(await page.getByRole("navigation").getByRole("link").allTextContents()).toEqual([
      expect.stringContaining("Overview"),
      expect.stringContaining("Plants"),
    ]);
  });

  test.each([
    ["the overview", "/", ".latest a"],
    ["the plants", "/plants", ".rows .row"],
  ])("is offered nothing on the page of %s that creates plants", async (_, path, content) => {
    const page = await openAsReader(path);
    await page.locator(content).first().waitFor();
    const offered = page.locator("main").getByText(/add a plant|import/i);
    expect(await offered.count()).toBe(0);
  });

  test("is told which scope the page of the tokens needs", async () => {
    const page = await openAsReader("/tokens");
    await see(page, "Sign in with a token that has the scope “operator”.");
  });
});

test("someone whose token creates no plants is told which scope an import needs", async () => {
  const { secret } = await mintToken(session.running, { name: "manager", scopes: ["operator"] });
  const page = await open("/import", { token: secret });
  await see(page, "Sign in with a token that has the scope “plants:create”.");
  expect(await page.locator("input[type=file]").count()).toBe(0);
});

test("the audit trail shows its older entries on request", async () => {
  // One token may do no more than 60 of them at once.
  for (const name of ["exporter", "other exporter"]) {
    const { secret: token } = await mintToken(session.running, { name, scopes: ["operator:read"] });
    for (let count = 0; count < 50; count++) {
      const response = await operatorFetch(session.running, "/api/export?tag=none", { token });
      await response.text();
    }
  }
  const page = await open("/audit");
  const entries = page.locator(".audit tbody tr");
  await waitUntil(async () => (await entries.count()) === 100);
  await page.getByRole("button", { name: "Show older entries" }).click();
  await waitUntil(async () => (await entries.count()) > 100);
});

describe("the overview", () => {
  test("shows the state of the store", async () => {
    const page = await open("/");
    await see(page, "All plants are on disk");
    await see(page, "Disk space free");
    await see(page, / left at this rate$/);
    await see(page, `Version ${packageFile.version}`);
  });

  test("shows a new backup live", async () => {
    const page = await open("/");
    await see(page, "All plants are on disk");
    recordLastBackup(session.running.database, Date.now() - 3 * 3_600_000);
    await see(page, "Last backup 3 hours ago");
  });

  test("shows a new plant live", async () => {
    const page = await open("/");
    const total = page.locator(".kpi-total .number > span");
    await total.waitFor();
    const count = async () => Number(((await total.textContent()) ?? "").replaceAll(",", ""));
    const before = await count();
    expect(before).toBeGreaterThanOrEqual(seeded);
    await post(session.running.url, '{"id":500001,"name":"Counted live"}');
    await waitUntil(async () => (await count()) === before + 1);
    await page.locator(".latest").getByText("Counted live").waitFor();
  });

  test("shows a refusal live", async () => {
    const page = await open("/");
    await see(page, "All plants are on disk");
    await post(session.running.url, '{"name":"No id"}');
    await see(page, "40010 a required field is missing");
  });

  test("charts the plants of a period", async () => {
    const page = await open("/");
    await page.locator(".plot").hover({ position: { x: 400, y: 100 } });
    expect(await textOf(page, ".chart-tip")).toMatch(/^\d\d:\d\d\d+ createdrefusals unknown$/);
    await page.getByRole("button", { name: "7 d" }).click();
    await page.getByRole("heading", { name: "Plants per hour" }).waitFor();
    expect(await page.locator(".plot").getAttribute("aria-label")).toStartWith("In the last 7 days, 1,1");
    expect(await textOf(page, ".legend")).toMatch(/^Created 1,1\d\dRefused \d+ since the start/);
  });

  test("that crashes leaves the other pages usable", async () => {
    const page = await open("/tokens");
    session.expectedErrors.push(/not a number|BigInt|undefined/);
    await heading(page, "Tokens");
    await page.route("**/api/overview", (route) => route.fulfill({ json: { total: "not a number" } }));
    await page.getByRole("link", { name: "Overview" }).click();
    await see(page, "This page stopped working");
    await page.getByRole("link", { name: "Tokens" }).click();
    await heading(page, "Tokens");
    await page.getByRole("link", { name: "Overview", exact: true }).click();
    await see(page, "This page stopped working");
    await page.unrouteAll();
    await page.getByRole("button", { name: "Reload" }).click();
    await see(page, "All plants are on disk");
  });

  test("has no rate above its own peak right after a burst", async () => {
    await using busy = await startTestService();
    const plants = Array.from({ length: 120 }, (_, id) => `{"id":${id},"name":"Burst"}`);
    await Promise.all(plants.map((plant) => post(busy.url, plant)));
    const page = await open("/", { origin: busy.operatorUrl, token: operatorToken });
    await see(page, /^peak/);
    const figures = /^([\d.]+) peak ([\d.]+) in 3 h$/.exec(await textOf(page, ".kpi-rate .number"));
    const peak = Number(figures?.[2]);
    expect(peak).toBeGreaterThan(0);
    expect(Number(figures?.[1])).toBeLessThanOrEqual(peak);
  });

  test("of an empty store shows how to send the first plant", async () => {
    await using empty = await startTestService();
    const page = await open("/", { origin: empty.operatorUrl, token: operatorToken });
    await page.getByRole("link", { name: "Plants", exact: true }).click();
    await page.getByRole("heading", { name: "No plants yet" }).waitFor();
    await page.getByRole("link", { name: "Overview" }).click();
    await see(page, "Ready for the first plant");
    expect(await page.locator(".kpi, .plot").count()).toBe(0);
    const command = await textOf(page, ".empty .code");
    const run = command.replace("YOUR_TOKEN", accessToken).replace("curl", "curl -s");
    expect(await new Response(Bun.spawn(["sh", "-c", run]).stdout).text()).toBe(
      '{"name":"Fern","tag":"indoor"}',
    );
    await page.locator(".latest").getByText("Fern").waitFor();
    await see(page, "All plants are on disk");
    await see(page, "No backup yet");
    await page.getByRole("link", { name: "Plants", exact: true }).click();
    await page.locator(".rows").getByText("Fern").waitFor();
  });
});

describe("the form for a plant", () => {
  async function openForm() {
    const page = await open("/");
    await page.getByRole("button", { name: "Add a plant" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.waitFor();
    const add = async (id: string, name = "Fern", tag = ""): Promise<void> => {
      await dialog.getByLabel("Id").fill(id);
      await dialog.getByLabel("Name").fill(name);
      await dialog.getByLabel("Tag").fill(tag);
      await dialog.getByRole("button", { name: "Add plant" }).click();
    };
    const errorAt = async (label: string): Promise<string> => {
      await page.locator(".field-error").first().waitFor();
      const descriptionId = await dialog.getByLabel(label).getAttribute("aria-describedby");
      return textOf(page, `[id="${descriptionId}"]`);
    };
    return { page, dialog, add, errorAt };
  }
  const focusedField = (page: Page) => page.evaluate<string>("document.activeElement.name");

  test("opens with the focus at the id", async () => {
    const { page } = await openForm();
    expect(await focusedField(page)).toBe("id");
  });

  test("shows at the id that it is no number", async () => {
    const { add, errorAt } = await openForm();
    await add("12 apples");
    expect(await errorAt("Id")).toContain('but is the string "12 apples"');
  });

  test("moves the focus to an id that belongs to another plant", async () => {
    await post(session.running.url, '{"id":7,"name":"First"}');
    const { page, add, errorAt } = await openForm();
    await add("7", "Other");
    expect(await errorAt("Id")).toContain("already belongs to a plant with a different name");
    expect(await focusedField(page)).toBe("id");
  });

  test("stores no plant without a name", async () => {
    const { add, errorAt } = await openForm();
    await add("4001", "");
    expect(await errorAt("Name")).toContain("is empty");
    expect(find(4001n)).toBeUndefined();
  });

  test("generates an id that fits into 64 bits", async () => {
    const { page, dialog } = await openForm();
    await page.getByRole("button", { name: "Generate" }).click();
    expect(BigInt(await dialog.getByLabel("Id").inputValue())).toBeLessThan(2n ** 63n);
  });

  test("keeps an id exact that no double can hold", async () => {
    const { page, add } = await openForm();
    await add(unsafeId, 'O\'Fern "quoted"', "indoor");
    await see(page, "The plant is stored.");
    expect(find(BigInt(unsafeId))).toMatchObject({ name: 'O\'Fern "quoted"', tag: "indoor" });
  });

  test("accepts an id with an exponent", async () => {
    const { page, add } = await openForm();
    await add("1e3", "A thousand");
    await see(page, "The plant is stored.");
    expect(find(1000n)).toMatchObject({ name: "A thousand" });
  });

  test("reports a replay", async () => {
    await post(session.running.url, '{"id":4002,"name":"Twice"}');
    const { page, add } = await openForm();
    await add("4002", "Twice");
    await see(page, "This plant is already stored");
  });
});

describe("tokens", () => {
  test("are a page whose heading has the focus, so that a screen reader announces it", async () => {
    const page = await open("/");
    await page.locator(".latest a").first().waitFor();
    await page.getByRole("link", { name: "Tokens" }).click();
    await page.locator("h1:focus", { hasText: "Tokens" }).waitFor();
    expect(await page.title()).toBe("Tokens · Plant Store");
  });

  /** Opens the dialog that creates one. */
  async function openCreation() {
    const page = await open("/tokens");
    await page.getByRole("button", { name: "Create a token" }).click();
    const dialog = page.getByRole("dialog");
    const create = dialog.getByRole("button", { name: "Create token" });
    return { page, dialog, create };
  }

  test("that lack a name get the error at that field", async () => {
    const { dialog, create } = await openCreation();
    await create.click();
    const name = dialog.getByLabel("Name");
    await dialog.getByText("Enter a name of 1 to 64 characters.").waitFor();
    expect(await name.getAttribute("aria-invalid")).toBe("true");
    expect(await isFocused(name)).toBe(true);
  });

  test("that lack a scope move the focus to the scopes", async () => {
    const { dialog, create } = await openCreation();
    await dialog.getByLabel("Name").fill("without scopes");
    await dialog.getByLabel("plants:create").uncheck();
    await create.click();
    await dialog.locator("fieldset").getByText("Choose at least one scope.").waitFor();
    expect(await isFocused(dialog.getByLabel("plants:create"))).toBe(true);
  });

  test("that are not created leave the focus on the button if no field is wrong", async () => {
    const { page, dialog, create } = await openCreation();
    const sent = Promise.withResolvers<void>();
    await page.route("**/api/tokens", async (route) => {
      await sent.promise;
      await route.abort();
    });
    await dialog.getByLabel("Name").fill("unanswered");
    await create.click();
    // A disabled button has no focus.
    await waitUntil(async () => !(await isFocused(create)));
    sent.resolve();
    await dialog.getByText("The service does not respond.").waitFor();
    expect(await isFocused(create)).toBe(true);
  });

  test("that are not created because the service does not respond have no error at a field", async () => {
    const { page, dialog, create } = await openCreation();
    await page.route("**/api/tokens", (route) => route.abort());
    const name = dialog.getByLabel("Name");
    await name.fill("unanswered");
    await create.click();
    await dialog.locator("form > .field-error").getByText("The service does not respond.").waitFor();
    expect(await name.getAttribute("aria-invalid")).toBe("false");
    await name.fill("unanswered again");
    await dialog.locator(".field-error").waitFor({ state: "detached" });
  });

  /** Creates one in the dialog, up to its secret. */
  async function createInDialog(name: string) {
    const { page, dialog, create } = await openCreation();
    await dialog.getByLabel("Name").fill(name);
    await dialog.getByLabel("Expires").selectOption("90d");
    await create.click();
    await page.locator("pre.secret").waitFor();
    const confirm = async () => {
      await dialog.getByRole("button", { name: "I have saved it" }).click();
      await dialog.waitFor({ state: "detached" });
    };
    return { page, confirm, secret: await secretOf(page) };
  }

  test("are valid as soon as they are created", async () => {
    const { secret } = await createInDialog("robot");
    expect(secret).toMatch(/^pst_\w{49}$/);
    expect(await statusWith(secret)).toBe(200);
  });

  test("are listed with their expiry", async () => {
    const { page, confirm } = await createInDialog("listed robot");
    await confirm();
    const row = await page.getByRole("row", { name: "listed robot" }).textContent();
    expect(row).toMatch(/expires \d+ \w+ \d{4}/);
  });

  test("keep their secret in sight until it is confirmed, whatever key is pressed", async () => {
    const { page, secret } = await createInDialog("hasty robot");
    for (const key of ["Enter", "Escape", "Escape", "Escape"]) await page.keyboard.press(key);
    expect(await secretOf(page)).toBe(secret);
    expect(await focusedText(page)).toBe(secret);
  });

  test("have a secret that a button copies", async () => {
    const { page, secret } = await createInDialog("copied robot");
    expect(await copiedBy(page.getByRole("button", { name: "Copy secret" }))).toBe(secret);
    await see(page, "Copied");
  });

  test("return the focus to where it was once their secret is confirmed", async () => {
    const { page, confirm } = await createInDialog("confirmed robot");
    await confirm();
    expect(await focusedText(page)).toBe("Create a token");
  });

  test("that are rotated without an overlap have only their new secret", async () => {
    const { secret: old } = await mintToken(session.running, {
      name: "rotated robot",
      scopes: ["plants:create"],
    });
    const page = await open("/tokens");
    await page.getByRole("button", { name: "Rotate rotated robot" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("The old secret stays valid for").selectOption("0s");
    await dialog.getByRole("button", { name: "Rotate", exact: true }).click();
    await page.locator("pre.secret").waitFor();
    expect(await statusWith(old)).toBe(401);
    expect(await statusWith(await secretOf(page))).toBe(200);
  });

  test("that are revoked are refused, and listed as revoked", async () => {
    const { secret } = await mintToken(session.running, { name: "revoked robot", scopes: ["plants:create"] });
    const page = await open("/tokens");
    await page.getByRole("button", { name: "Revoke revoked robot" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("heading", { name: "Revoke “revoked robot”?" }).waitFor();
    await dialog.getByRole("button", { name: "Revoke" }).click();
    await dialog.waitFor({ state: "detached" });
    await page.locator(".tokens tr.revoked").getByText("revoked robot").waitFor();
    expect(await statusWith(secret)).toBe(401);
  });

  test.each([
    ["7d", "in 7 days"],
    ["90d", /^\d\d? \w+ \d{4}$/],
  ])("that expire after %s say exactly when to a pointer and to a screen reader", async (expiresIn, text) => {
    const name = `expires after ${expiresIn}`;
    const scopes = ["metrics"];
    await mintToken(session.running, { name, scopes, expiresIn });
    const page = await open("/tokens");
    const expiry = page.getByRole("row", { name }).locator(".state + .note time");
    await expiry.waitFor();
    const visible = await expiry.evaluate((time) => time.firstChild?.textContent?.trim() ?? "");
    expect(visible).toMatch(text);
    const exact = (await expiry.getAttribute("title")) ?? "";
    expect(exact).toMatch(/^\d\d? \w+ \d{4}, \d\d:\d\d:\d\d CES?T$/);
    expect(await expiry.ariaSnapshot()).toContain(`${visible} (${exact})`);
  });

  test("that were rotated stand under their successor until they expire", async () => {
    const name = "greenhouse";
    const rotated = await mintToken(session.running, { name, scopes: ["metrics"] });
    await operatorPost(session.running, `/api/tokens/${rotated.token.id}/rotate`, { overlap: "7d" });
    const page = await open("/tokens");
    const old = page.locator(`tr:has-text("${name}") + tr.old`);
    await old.waitFor();
    expect(await old.locator("th").innerText()).toMatch(
      /old secret, valid until \d+ \w+, \d\d:\d\d\n[0-9a-f]{8}$/,
    );
    expect(await old.locator("code").textContent()).toBe(rotated.token.id);
    expect(await old.getByRole("button").allTextContents()).toEqual([`Revoke the old secret of ${name}`]);
    await old.getByRole("button").click();
    await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
    await old.waitFor({ state: "detached" });
    expect(await page.locator(`tr.live:has-text("${name}")`).count()).toBe(1);
  });

  test.each([768, 1280])("have rows of one height at %d px", async (width) => {
    const scopes = ["plants:create", "operator:read", "metrics", "operator"];
    const name = `a-name-of-64-characters-${"x".repeat(32)}-at-${width}`.padEnd(64, "-");
    await mintToken(session.running, { name, scopes, expiresIn: "365d" });
    await mintToken(session.running, { name: `short at ${width}` });
    const page = await open("/tokens");
    await page.setViewportSize({ width, height: 800 });
    const row = page.getByRole("row", { name });
    await row.waitFor();
    const heights = await page.evaluate<number[]>(
      "[...document.querySelectorAll('.tokens tbody tr')].map((row) => Math.round(row.clientHeight))",
    );
    expect(new Set(heights).size).toBe(1);
    const card = await page.locator(".card:has(.tokens)").boundingBox();
    const button = await row.getByRole("button").last().boundingBox();
    expect(Number(button?.x) + Number(button?.width)).toBeLessThan(Number(card?.x) + Number(card?.width));
  });

  test.each([768, 1280])("have all their scopes in sight at %d px", async (width) => {
    const scopes = ["plants:create", "operator:read", "metrics", "operator"];
    const name = `all-scopes-at-${width}`;
    await mintToken(session.running, { name, scopes });
    const page = await open("/tokens");
    await page.setViewportSize({ width, height: 800 });
    const shown = page.getByRole("row", { name }).locator(".scopes .two-lines > :first-child");
    expect(await shown.evaluate((line) => line.scrollWidth - line.clientWidth)).toBe(0);
  });

  test("replaced while one is signed in with it still show their new secret", async () => {
    const { secret: own } = await mintToken(session.running, { name: "own", scopes: ["operator"] });
    const page = await open("/tokens", { token: own });
    await page.getByRole("button", { name: "Rotate own" }).click();
    await page.getByLabel("The old secret stays valid for").selectOption("0s");
    await page.getByRole("button", { name: "Rotate", exact: true }).click();
    await page.locator("pre.secret").waitFor();
    const secret = await secretOf(page);
    await page.getByRole("heading", { name: "Plant Store", includeHidden: true }).waitFor();
    await page.getByRole("button", { name: "I have saved it" }).click();
    await signIn(page, secret);
    await heading(page, "Tokens");
    await page.getByRole("button", { name: "Revoke own" }).click();
    await see(page, "If you are signed in with this token");
  });
});

describe("the theme", () => {
  const background = (page: Page) => page.evaluate<string>("getComputedStyle(document.body).backgroundColor");
  const light = "rgb(251, 251, 250)";
  const dark = "rgb(14, 17, 16)";

  test("follows the system until one is chosen", async () => {
    const page = await open("/import", { alone: true });
    await page.emulateMedia({ colorScheme: "light" });
    await page.getByRole("button", { name: "Theme: system" }).click();
    await page.getByRole("button", { name: "Theme: light" }).click();
    await page.getByRole("button", { name: "Theme: dark" }).waitFor();
    expect(await background(page)).toBe(dark);
    // Without the page's script, what is left is what the file in <head> has done.
    await page.route("**/assets/main-*.js", (route) => route.abort());
    await page.reload();
    await see(page, "Loading the console.");
    expect(await background(page)).toBe(dark);
    await page.unrouteAll();
    await page.reload();
    await page.getByRole("button", { name: "Theme: dark" }).click();
    await page.getByRole("button", { name: "Theme: system" }).waitFor();
    expect(await background(page)).toBe(light);
    await page.emulateMedia({ colorScheme: "dark" });
    expect(await background(page)).toBe(dark);
    await page.context().close();
  });

  test("can be chosen until the next load in a browser that keeps nothing", async () => {
    const page = await open("/import", { alone: true });
    await page.emulateMedia({ colorScheme: "light" });
    await page.addInitScript(noStorage("localStorage"));
    await page.reload();
    await page.getByRole("button", { name: "Theme: system" }).click();
    await page.getByRole("button", { name: "Theme: light" }).click();
    await page.getByRole("button", { name: "Theme: dark" }).waitFor();
    expect(await background(page)).toBe(dark);
    await page.context().close();
  });

  test("is all that the browser keeps when the tab is closed", async () => {
    const page = await open("/import");
    await page.getByRole("button", { name: "Theme: system" }).click();
    await page.getByRole("button", { name: "Theme: light" }).waitFor();
    expect(await page.evaluate("Object.entries(localStorage)")).toEqual([["plant-store-theme", "light"]]);
    expect(await page.evaluate("Object.keys(sessionStorage)")).toEqual(["plant-store-token"]);
    expect(await page.context().cookies()).toEqual([]);
    expect(await page.evaluate("indexedDB.databases()")).toEqual([]);
    expect(await page.evaluate("caches.keys()")).toEqual([]);
  });
});

describe("a phone of 360 px", () => {
  /** The boxes that can be scrolled sideways, and the page itself if it can. */
  const scrolledSideways = `[...document.querySelectorAll("html, body *")]
    .filter((box) => box === document.documentElement || /auto|scroll/.test(getComputedStyle(box).overflowX))
    .filter((box) => box.scrollWidth > box.clientWidth)
    .map((box) => box.outerHTML.slice(0, 80))`;

  test.each([
    ["/", "Overview"],
    ["/plants", "Plants"],
    ["/import", "Import"],
    ["/tokens", "Tokens"],
    ["/refused", "Refused"],
    ["/audit", "Audit"],
    ["/system", "System"],
  ])("shows all of %s without scrolling sideways", async (path, title) => {
    const page = await open(path);
    await page.setViewportSize({ width: 360, height: 740 });
    try {
      await heading(page, title);
      await waitUntil(async () => (await page.locator('[aria-busy="true"]').count()) === 0);
      expect(await page.evaluate(scrolledSideways)).toEqual([]);
    } finally {
      await page.setViewportSize({ width: 1280, height: 600 });
    }
  });
});

describe("a dialog", () => {
  const sizeOf = (page: Page, selector: string) =>
    page.evaluate<{ width: number; height: number }>(
      `document.querySelector("${selector}").getBoundingClientRect().toJSON()`,
    );

  test("has a secret on one line", async () => {
    const page = await open("/tokens");
    await page.getByRole("button", { name: "Create a token" }).click();
    const form = await sizeOf(page, "dialog");
    await page.getByRole("dialog").getByLabel("Name").fill("wide");
    await page.keyboard.press("Enter");
    await page.locator("pre.secret").waitFor();
    expect((await sizeOf(page, "dialog")).width).toBe(form.width);
    const lines = await page.evaluate<number>(`(() => {
      const range = document.createRange();
      range.selectNodeContents(document.querySelector("pre.secret"));
      return new Set([...range.getClientRects()].map(({ top }) => top)).size;
    })()`);
    expect(lines).toBe(1);
  });

  test("darkens the page up to its edge where scrollbars take space", async () => {
    await using browser = await chromium.launch({
      ...chromiumOptions(),
      ignoreDefaultArgs: ["--hide-scrollbars"],
    });
    const page = await newPage(browser, { viewport: { width: 1280, height: 900 } });
    await page.goto(`${session.running.operatorUrl}/livez`);
    await page.evaluate(`sessionStorage.setItem("plant-store-token", ${JSON.stringify(session.secret)})`);
    await page.goto(`${session.running.operatorUrl}/plants`);
    await page.getByRole("button", { name: "Add a plant" }).click();
    await page.getByRole("dialog").waitFor();
    const gutterPx = await page.evaluate<number>("innerWidth - document.body.offsetWidth");
    expect(gutterPx).toBeGreaterThanOrEqual(8);
    const pixels = (x: number) => page.screenshot({ clip: { x, y: 2, width: 8, height: 8 } });
    expect(await pixels(1280 - 8)).toEqual(await pixels(1280 - 8 - gutterPx));
  });
});

describe("the system page", () => {
  test("has the state on one line", async () => {
    const page = await open("/system");
    await see(page, "Disk space free");
    expect(await textOf(page, ".state-line")).toMatch(
      /^Plants can be storedData file [\d.]+ \w+WAL [\d.]+ \w+Disk space free [\d.]+ \w+$/,
    );
    await page.setViewportSize({ width: 768, height: 800 });
    try {
      expect((await page.locator(".state-line").boundingBox())?.height).toBeLessThan(50);
    } finally {
      await page.setViewportSize({ width: 1280, height: 600 });
    }
  });

  test("says which version is running", async () => {
    const page = await open("/system");
    await see(page, /^Version [\d.]+, started /);
  });

  test("lists the settings without a secret", async () => {
    const page = await open("/system");
    await see(page, "Disk space free");
    const settings = page.getByRole("table", { name: "Current settings" });
    const sources = settings.locator("tbody td > :last-child");
    expect(new Set(await sources.allTextContents())).toEqual(
      new Set(["from its flag", "from the environment"]),
    );
    expect(await settings.getByRole("row", { name: /^backup-folder/ }).count()).toBe(1);
    await page.getByRole("button", { name: /^Show all \d\d$/ }).click();
    const row = settings.getByRole("row", { name: /max-body-bytes/ });
    expect(await row.textContent()).toBe("max-body-bytes the largest request body accepted65536 default");
    expect(await settings.getByRole("row", { name: /OPERATOR_TOKEN/ }).textContent()).toContain("not shown");
    expect(await page.content()).not.toMatch(/test-(?:access|operator)-token/);
  });

  test("links to the docs page", async () => {
    const page = await open("/system");
    const docs = page.getByRole("link", { name: "API docs" });
    expect(await docs.getAttribute("href")).toBe(`${session.running.url}/docs`);
  });

  test("says how far a verification is", async () => {
    const task = { kind: "verify", name: "a.db" };
    const progress = { doing: "checking the rows of", share: 0.41 };
    const page = await open("/tokens");
    await page.route("**/api/backups", (route) =>
      route.fulfill({ json: { folder: "/b", backups: [], task, progress } }),
    );
    await page.getByRole("link", { name: "System" }).click();
    await see(page, "Verifying a.db…");
    await see(page, "Now checking the rows of it: 41%");
  });

  test("does not show the next backup as an error after one failed", async () => {
    const last = { kind: "create", problem: "There is no space left on the disk." };
    const page = await open("/tokens");
    await page.route("**/api/backups", (route) =>
      route.fulfill({ json: { folder: "/b", backups: [], task: { kind: "create" }, last } }),
    );
    await page.getByRole("link", { name: "System" }).click();
    const status = page.getByText("Making a backup…");
    await status.waitFor();
    expect(await status.getAttribute("class")).toBe("note");
  });

  test("makes a backup that can be verified, restored and downloaded", async () => {
    const page = await open("/system");
    await see(page, "No backups yet.");
    await page.getByRole("button", { name: "Back up now" }).click();
    await see(page, "The backup is complete and checked.");
    const backup = page.getByRole("table", { name: "Backups" }).locator("tbody");
    expect(await backup.textContent()).toMatch(/[0-9a-f]{8}… of 1,024 plants.*not yet/);
    await page.getByRole("button", { name: "Verify" }).click();
    await see(page, /\.db was verified, and nothing wrong was found\.$/);
    expect(await backup.textContent()).not.toContain("not yet");
    await backup.getByText("Restore command and digest").click();
    const digest = await copiedBy(backup.getByRole("button", { name: "Copy digest" }));
    expect(digest).toMatch(/^1024 [0-9a-f]{64}$/);
    await backup.getByRole("button", { name: "Copied" }).waitFor();
    await backup.getByRole("button", { name: "Copy command" }).click();
    await backup.getByRole("button", { name: "Copied" }).nth(0).waitFor();
    const command = await textOf(page, ".backups pre >> nth=0");
    expect(command).toMatch(/^plant-store restore \S+\.db --replace --database \S+\.db$/);
    const waiting = page.waitForEvent("download");
    await page.getByRole("button", { name: "Download" }).click();
    const downloaded = await waiting;
    expect(await contentOf(downloaded)).toEqual(
      readFileSync(join(backupFolder, downloaded.suggestedFilename())),
    );
  });
});

describe("an unknown path", () => {
  test.each(["/nowhere", "/plants/", "/plants/%zz"])("such as %p says so", async (path) => {
    const page = await open("/livez");
    const response = await page.goto(session.running.operatorUrl + path);
    expect(response?.status()).toBe(404);
    await see(page, `There is nothing at ${path}`);
    expect(await page.title()).toBe("Page not found · Plant Store");
  });

  test("has a link to the overview", async () => {
    const page = await open("/nowhere");
    await page.getByRole("link", { name: "Go to the overview" }).click();
    await page.locator(".latest a").first().waitFor();
  });
});
