import { expect } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type DrivenPage, keys } from "./driven-page.ts";
import { post, storedPlants, type TestService } from "./harness.ts";

export interface FlowContext {
  readonly page: DrivenPage;
  readonly running: TestService;
  /** A token with the scopes operator and plants:create. */
  readonly secret: string;
  /** For files to upload. */
  readonly folder: string;
}

export interface Flow {
  readonly name: string;
  run(context: FlowContext): Promise<void>;
}

// 2^63 - 1: the largest id, which no double can represent.
const largestId = "9223372036854775807";
const drawn = "document.querySelector('.plot path') !== null";

/** What an operator does in the console, in this order, on one page. */
export const flows: readonly Flow[] = [
  {
    name: "signs in with a token, which cannot be read from the screen",
    async run({ page, secret }) {
      await page.open("/");
      await page.see("h1", "Plant Store");
      expect(await page.evaluate("getComputedStyle(document.activeElement).webkitTextSecurity")).toBe("disc");
      await page.fill("Token", "not-a-token-of-this-service");
      await page.type(keys.enter);
      await page.see(".field-error", "This token is unknown");
      await page.fill("Token", secret);
      await page.click("button", "Sign in");
      await page.see("h1", "Overview");
      await page.see(".light", "Connected");
    },
  },
  {
    name: "sees the chart, a minute at the point, and a week",
    async run({ page }) {
      await page.until(drawn, "a chart");
      await page.hover(".plot");
      await page.see(".chart-tip", "created");
      await page.click("button", "7 d");
      await page.see("h2", "Plants per hour");
      await page.until(drawn, "a chart");
    },
  },
  {
    name: "adds a plant with the largest id, which stays exact",
    async run({ page, running }) {
      await page.click("button", "Add a plant");
      await page.see("dialog h2", "Add a plant");
      expect(await page.evaluate("document.activeElement.name")).toBe("id");
      await page.type(largestId);
      await page.fill("Name", "Last fern, größer");
      await page.fill("Tag optional", "limit");
      await page.click("button", "Add plant");
      await page.see(".success", "The plant is stored.");
      expect(storedPlants(running.database).at(-1)).toMatchObject({
        id: BigInt(largestId),
        name: "Last fern, größer",
      });
      await page.click("a", "Show Last fern, größer");
      await page.until(`location.pathname === "/plants/${largestId}"`);
      expect(await page.see(".facts .exact")).toBe(largestId);
      expect(await page.count("dialog")).toBe(0);
    },
  },
  {
    name: "lists plants, filters them, and opens one",
    async run({ page }) {
      await page.click("nav a", "Overview");
      await page.click("nav a", "Plants");
      await page.until("document.querySelectorAll('.rows .row').length > 5", "rows");
      await page.evaluate("document.querySelector('.table-body').scrollTo(0, 4000)");
      await page.until(
        "[...document.querySelectorAll('.rows .row:not(.blank)')].some((row) => Number(row.getAttribute('aria-rowindex')) > 100)",
        "a row after the hundredth",
      );
      await page.type("/");
      await page.until("document.activeElement.type === 'search'", "the focus in the search");
      await page.type("last fern");
      await page.until("location.search === '?name=last+fern'", "the filter in the address");
      await page.until("document.querySelectorAll('.rows .row').length === 1", "one row");
      await page.click("button", "Tag");
      await page.fill("Tag", "limit");
      await page.until("location.search.includes('tag=limit')", "the tag in the address");
      await page.type(keys.escape);
      await page.click(".rows .row a", "Last fern, größer");
      expect(await page.see(".facts .exact")).toBe(largestId);
      await page.type(keys.escape);
      await page.until("document.querySelector('.detail') === null", "the list without the panel");
      await page.click("button", "Clear");
      await page.until("document.querySelectorAll('.rows .row').length > 5", "all rows");
    },
  },
  {
    name: "creates a token, whose secret closes only after it was copied, and revokes it",
    async run({ page, running }) {
      await page.click("nav a", "Tokens");
      const secret = await createToken(page, "robot");
      expect(await statusWith(running, secret)).toBe(200);
      await page.click("button", "Actions for robot");
      await page.click(".item .danger");
      await page.see("dialog h2", "Revoke “robot”?");
      await page.click("button", "Revoke robot");
      await page.see("tr.revoked", "robot");
      expect(await statusWith(running, secret)).toBe(401);
    },
  },
  {
    name: "imports a CSV file, and sees what became of each row",
    async run({ page, running, folder }) {
      const file = join(folder, "plants.csv");
      writeFileSync(
        file,
        'id,name,tag\n71,"Oak, old",tree\n72x,Elm,\n9007199254740993,Ash,\n71,"Oak, old",tree\n',
      );
      await page.click("nav a", "Import");
      await page.see("h1", "Import");
      await page.driver.chooseFile("input[type=file]", file);
      await page.click("button", "Start import");
      await page.see("h2", "Done: plants.csv");
      expect(
        await page.evaluate<string[]>(
          "[...document.querySelectorAll('.tally dd')].map((count) => count.textContent)",
        ),
      ).toEqual(["2", "1", "1"]);
      expect(await page.see(".scroll-box tbody tr")).toMatch(/^3.*id.*72x,Elm/);
      const ids = storedPlants(running.database).map(({ id }) => id);
      expect([ids.includes(71n), ids.includes(9007199254740993n)]).toEqual([true, true]);
    },
  },
];

/** The last one: nothing is left of the session. */
export const leave: Flow = {
  name: "signs out, also for the next load",
  async run({ page }) {
    await page.click("button", "Sign out");
    await page.see("button", "Sign in");
    expect(await page.evaluate("sessionStorage.length")).toBe(0);
    await page.open("/plants");
    await page.see("button", "Sign in");
  },
};

async function createToken(page: DrivenPage, name: string): Promise<string> {
  await page.click("button", "Create a token");
  await page.see("dialog h2", "Create a token");
  await page.fill("Name", name);
  await page.type(keys.enter);
  const secret = await page.see("dialog .secret", "pst_");
  await page.type(keys.escape);
  await page.see(".field-error", "Copy the secret, or confirm");
  await page.click("button", "Copy secret");
  await page.see("button", "Copied");
  await page.type(keys.escape);
  await page.until("document.querySelector('dialog') === null", "the page without the dialog");
  return secret;
}

async function statusWith(running: TestService, secret: string): Promise<number> {
  const headers = { Authorization: `Bearer ${secret}` };
  return (await post(running.url, '{"id":91,"name":"By robot"}', headers)).status;
}
