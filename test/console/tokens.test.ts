// The console's page of the tokens, in a browser.
import { expect } from "bun:test";
import type { Locator, Page } from "playwright-core";
import { copiedBy, describe, test } from "../support/browser.ts";
import {
  signIn,
  textIn,
  useConsole,
  waitForHeading,
  waitForText,
  waitUntil,
} from "../support/console-session.ts";
import { memoize } from "../support/memoize.ts";
import { mintToken, operatorPost } from "../support/operator-requests.ts";
import { post } from "../support/post-plants.ts";
import { bearer } from "../support/tokens.ts";

const session = useConsole(10);
const { open } = session;

const focusedText = (page: Page) => page.evaluate<string>("document.activeElement.textContent.trim()");
const isFocused = (element: Locator) => element.evaluate((node) => node.ownerDocument.activeElement === node);
const secretOf = (page: Page) => textIn(page, "pre.secret");
const dialogWidth = (page: Page) =>
  page.evaluate<number>(`document.querySelector("dialog").getBoundingClientRect().width`);

async function statusWith(secret: string): Promise<number> {
  const headers = bearer(secret);
  return (await post(session.service.url, '{"id":91,"name":"By robot"}', headers)).status;
}

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

  /** Tries to create one without a name, and then one without a scope. */
  const createIncomplete = memoize(async () => {
    const { dialog, create } = await openCreation();
    const name = dialog.getByLabel("Name");
    await create.click();
    await dialog.getByText("Enter a name of 1 to 64 characters.").waitFor();
    const withoutName = {
      isInvalid: await name.getAttribute("aria-invalid"),
      isNameFocused: await isFocused(name),
    };
    await name.fill("without scopes");
    await dialog.getByLabel("plants:create").uncheck();
    await create.click();
    await dialog.locator("fieldset").getByText("Choose at least one scope.").waitFor();
    return { withoutName, isScopeFocused: await isFocused(dialog.getByLabel("plants:create")) };
  });

  test("that lack a name get the error at that field", async () => {
    expect((await createIncomplete()).withoutName).toEqual({ isInvalid: "true", isNameFocused: true });
  });

  test("that lack a scope move the focus to the scopes", async () => {
    expect((await createIncomplete()).isScopeFocused).toBe(true);
  });

  /** Tries to create one while the service does not respond, and then changes its name. */
  const createUnanswered = memoize(async () => {
    const { page, dialog, create } = await openCreation();
    const sent = Promise.withResolvers<void>();
    await page.route("**/api/tokens", async (route) => {
      await sent.promise;
      await route.abort();
    });
    const name = dialog.getByLabel("Name");
    await name.fill("unanswered");
    await create.click();
    // A disabled button has no focus.
    await waitUntil(async () => !(await isFocused(create)));
    sent.resolve();
    await dialog.locator("form > .field-error").getByText("The service does not respond.").waitFor();
    const isButtonFocused = await isFocused(create);
    const isNameInvalid = await name.getAttribute("aria-invalid");
    await name.fill("unanswered again");
    await dialog.locator(".field-error").waitFor({ state: "detached" });
    return { isButtonFocused, isNameInvalid };
  });

  test("that are not created leave the focus on the button if no field is wrong", async () => {
    expect((await createUnanswered()).isButtonFocused).toBe(true);
  });

  test("that are not created because the service does not respond have no error at a field", async () => {
    expect((await createUnanswered()).isNameInvalid).toBe("false");
  });

  test("that were loaded again are not replaced by a response to the request before", async () => {
    const page = await open("/");
    // The first response has arrived, and is read only later.
    await page.evaluate(`{
      const { json } = Response.prototype;
      const held = Promise.withResolvers();
      globalThis.releaseFirst = held.resolve;
      Response.prototype.json = async function () {
        const value = await json.call(this);
        if (!this.url.endsWith("/api/tokens")) return value;
        Response.prototype.json = json;
        await held.promise;
        return value;
      };
    }`);
    await page.getByRole("link", { name: "Tokens" }).click();
    await page.getByRole("button", { name: "Create a token" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Name").fill("created meanwhile");
    await dialog.getByRole("button", { name: "Create token" }).click();
    await dialog.getByRole("button", { name: "I have saved it" }).click();
    const created = page.getByRole("row", { name: "created meanwhile" });
    await created.waitFor();
    const drawn =
      "new Promise((resolve) => setTimeout(() => requestAnimationFrame(() => setTimeout(resolve))))";
    await page.evaluate(`releaseFirst(), ${drawn}`);
    expect(await created.count()).toBe(1);
  });

  /** Creates one in the dialog, and collects what each step shows. */
  const createInDialog = memoize(async () => {
    const { page, dialog, create } = await openCreation();
    const formWidth = await dialogWidth(page);
    await dialog.getByLabel("Name").fill("created robot");
    await dialog.getByLabel("Expires").selectOption("90d");
    await create.click();
    await page.locator("pre.secret").waitFor();
    const secret = await secretOf(page);
    const secretWidth = await dialogWidth(page);
    const secretLines = await page.evaluate<number>(`(() => {
      const range = document.createRange();
      range.selectNodeContents(document.querySelector("pre.secret"));
      return new Set([...range.getClientRects()].map(({ top }) => top)).size;
    })()`);
    const status = await statusWith(secret);
    for (const key of ["Enter", "Escape", "Escape", "Escape"]) await page.keyboard.press(key);
    const afterKeys = { secret: await secretOf(page), focused: await focusedText(page) };
    const copied = await copiedBy(page.getByRole("button", { name: "Copy secret" }));
    await waitForText(page, "Copied");
    await dialog.getByRole("button", { name: "I have saved it" }).click();
    await dialog.waitFor({ state: "detached" });
    const focusedAtLast = await focusedText(page);
    const row = await page.getByRole("row", { name: "created robot" }).textContent();
    const widths = { form: formWidth, secret: secretWidth };
    return { secret, widths, secretLines, status, afterKeys, copied, focusedAtLast, row };
  });

  test("are valid as soon as they are created", async () => {
    const { secret, status } = await createInDialog();
    expect(secret).toMatch(/^pst_\w{49}$/);
    expect(status).toBe(200);
  });

  test("are listed with their expiry", async () => {
    expect((await createInDialog()).row).toMatch(/expires \d+ \w+ \d{4}/);
  });

  test("keep their secret in sight until it is confirmed, whatever key is pressed", async () => {
    const { secret, afterKeys } = await createInDialog();
    expect(afterKeys).toEqual({ secret, focused: secret });
  });

  test("have a secret that a button copies", async () => {
    const { secret, copied } = await createInDialog();
    expect(copied).toBe(secret);
  });

  test("have their secret on one line", async () => {
    expect((await createInDialog()).secretLines).toBe(1);
  });

  test("have their secret in a dialog as wide as the form", async () => {
    const { widths } = await createInDialog();
    expect(widths.secret).toBe(widths.form);
  });

  test("return the focus to where it was once their secret is confirmed", async () => {
    expect((await createInDialog()).focusedAtLast).toBe("Create a token");
  });

  test("that are rotated without an overlap have only their new secret", async () => {
    const { secret: old } = await mintToken(session.service, {
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

  describe("that are revoked", () => {
    /** Creates a token, and revokes it on the page. */
    const revokeInDialog = memoize(async () => {
      const name = "revoked robot";
      const { secret } = await mintToken(session.service, { name, scopes: ["plants:create"] });
      const page = await open("/tokens");
      await page.getByRole("button", { name: `Revoke ${name}` }).click();
      const dialog = page.getByRole("dialog");
      await dialog.getByRole("heading", { name: `Revoke “${name}”?` }).waitFor();
      await dialog.getByRole("button", { name: "Revoke" }).click();
      await dialog.waitFor({ state: "detached" });
      await page.locator(".tokens tr.revoked").first().waitFor();
      return { secret, listed: await page.locator(".tokens tr.revoked").allTextContents() };
    });

    test("are refused", async () => {
      expect(await statusWith((await revokeInDialog()).secret)).toBe(401);
    });

    test("are listed as revoked", async () => {
      expect((await revokeInDialog()).listed).toContainEqual(expect.stringContaining("revoked robot"));
    });
  });

  /** Creates a token of each lifetime, and reads how the page shows when it expires. */
  const readExpiries = memoize(async () => {
    const lifetimes = ["7d", "90d"];
    const nameOf = (expiresIn: string) => `expires after ${expiresIn}`;
    for (const expiresIn of lifetimes)
      await mintToken(session.service, { name: nameOf(expiresIn), scopes: ["metrics"], expiresIn });
    const page = await open("/tokens");
    const expiries = new Map<string, { visible: string; exact: string; spoken: string }>();
    for (const expiresIn of lifetimes) {
      const expiry = page.getByRole("row", { name: nameOf(expiresIn) }).locator(".state + .note time");
      await expiry.waitFor();
      expiries.set(expiresIn, {
        visible: await expiry.evaluate((time) => time.firstChild?.textContent?.trim() ?? ""),
        exact: (await expiry.getAttribute("title")) ?? "",
        spoken: await expiry.ariaSnapshot(),
      });
    }
    return expiries;
  });

  test.each([
    ["7d", "in 7 days"],
    ["90d", /^\d\d? \w+ \d{4}$/],
  ])("that expire after %s say exactly when to a pointer and to a screen reader", async (expiresIn, text) => {
    const expiry = (await readExpiries()).get(expiresIn);
    expect(expiry?.visible).toMatch(text);
    expect(expiry?.exact).toMatch(/^\d\d? \w+ \d{4}, \d\d:\d\d:\d\d CES?T$/);
    expect(expiry?.spoken).toContain(`${expiry?.visible} (${expiry?.exact})`);
  });

  test("that were rotated stand under their successor until they expire", async () => {
    const name = "greenhouse";
    const rotated = await mintToken(session.service, { name, scopes: ["metrics"] });
    await operatorPost(session.service, `/api/tokens/${rotated.token.id}/rotate`, { overlap: "7d" });
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

  const allScopes = ["plants:create", "operator:read", "metrics", "operator"];
  const longName = `a-name-of-64-characters-${"x".repeat(32)}`.padEnd(64, "-");

  /** In a window of each width, how high the rows of a token that expires and one that does not are, and where a long name is. */
  const measureRows = memoize(async () => {
    const scopes = ["plants:create"];
    await mintToken(session.service, { name: "even", scopes });
    await mintToken(session.service, { name: "even too", scopes, expiresIn: "365d" });
    await mintToken(session.service, { name: longName, scopes: allScopes, expiresIn: "365d" });
    const page = await open("/tokens");
    const evenRows = page.locator(".tokens tbody tr").filter({ hasText: "even" });
    await evenRows.nth(1).waitFor();
    const row = page.getByRole("row", { name: longName });
    const shownName = row.getByRole("link");
    const measured = new Map<number, Awaited<ReturnType<typeof measure>>>();
    const measure = async () => ({
      heights: await evenRows.evaluateAll((all) => all.map(({ clientHeight }) => clientHeight)),
      nameCut: await shownName.evaluate((link) => link.scrollWidth - link.clientWidth),
      nameRight: await rightOf(shownName),
      scopeRights: await Promise.all((await row.locator(".tag").all()).map(rightOf)),
      buttonsLeft: Number((await row.getByRole("button").first().boundingBox())?.x),
      buttonsRight: await rightOf(row.getByRole("button").last()),
      cardRight: await rightOf(page.locator(".card:has(.tokens)")),
    });
    for (const width of [360, 768, 1280]) {
      await page.setViewportSize({ width, height: 800 });
      measured.set(width, await measure());
    }
    return (width: number) => {
      const found = measured.get(width);
      if (found === undefined) throw new Error(`not measured at ${width} px`);
      return found;
    };
  });

  async function rightOf(part: Locator): Promise<number> {
    const box = await part.boundingBox();
    return Number(box?.x) + Number(box?.width);
  }

  test.each([768, 1280])("have rows of one height at %d px, whether they expire or not", async (width) => {
    const { heights } = (await measureRows())(width);
    expect(heights).toHaveLength(2);
    expect(heights[0]).toBe(heights[1]);
  });

  describe.each([360, 768, 1280])("with a long name and all scopes, at %d px,", (width) => {
    test("show all of the name", async () => {
      const { nameCut, nameRight, buttonsLeft } = (await measureRows())(width);
      expect(nameCut).toBeLessThanOrEqual(0);
      expect(nameRight).toBeLessThan(buttonsLeft);
    });

    test("have all scopes in sight", async () => {
      const { scopeRights, cardRight } = (await measureRows())(width);
      expect(scopeRights).toHaveLength(allScopes.length);
      expect(Math.max(...scopeRights)).toBeLessThan(cardRight);
    });

    test("have their buttons inside the card", async () => {
      const { buttonsRight, cardRight } = (await measureRows())(width);
      expect(buttonsRight).toBeLessThan(cardRight);
    });
  });

  test("warn before they are revoked if they have the name of the session's token", async () => {
    const page = await open("/tokens");
    await page.getByRole("button", { name: "Revoke ops" }).click();
    await waitForText(page, "If you are signed in with this token");
  });

  test("show the new secret after the rotation of the session's own token", async () => {
    const { secret: own } = await mintToken(session.service, { name: "own", scopes: ["operator"] });
    const page = await open("/tokens", { token: own });
    await page.getByRole("button", { name: "Rotate own" }).click();
    await page.getByLabel("The old secret stays valid for").selectOption("0s");
    await page.getByRole("button", { name: "Rotate", exact: true }).click();
    await page.locator("pre.secret").waitFor();
    const secret = await secretOf(page);
    await page.getByRole("heading", { name: "Plant Store", includeHidden: true }).waitFor();
    await page.getByRole("button", { name: "I have saved it" }).click();
    await signIn(page, secret);
    await waitForHeading(page, "Tokens");
  });
});
