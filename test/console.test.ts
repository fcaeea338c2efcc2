import { afterAll, expect } from "bun:test";
import type { Page } from "playwright-core";
import packageFile from "../package.json" with { type: "json" };
import { recordBackup } from "../src/storage/sqlite/maintenance/backup.ts";
import { contentOf, describe, newPage, secretField, test } from "./browser.ts";
import { chooseAction, makeToken, useConsole } from "./console-session.ts";
import { accessToken, eventually, post, startTestService, storedPlants } from "./harness.ts";
import { idOf } from "./seeded-store.ts";

const seeded = 12_400;
const unsafeId = "9007199254740993";
const testMs = 30_000;
const session = useConsole(seeded);
const { open } = session;

// Scrolls down until everything is loaded, and returns the largest number of rows in the page.
const scrollToEnd = `(async () => {
  const body = document.querySelector(".table-body");
  let rowsMax = 0;
  const isComplete = () => document.querySelector("[role=table]").ariaRowCount !== "-1";
  for (let atEnd = false; ; ) {
    body.scrollTo(0, body.scrollHeight);
    await new Promise((resolve) => setTimeout(resolve, 10));
    rowsMax = Math.max(rowsMax, body.querySelectorAll(".row").length);
    // Once more after the end is known, since the last rows made the list longer.
    if (atEnd) return rowsMax;
    atEnd = isComplete();
  }
})()`;

const rows = (page: Page) => page.locator(".rows .row");
const textOf = async (page: Page, selector: string) => (await page.locator(selector).textContent()) ?? "";
const names = (page: Page) => page.locator(".rows .cell-name").allTextContents();

async function scrollDown(page: Page): Promise<void> {
  await page.locator(".table-body").evaluate((body) => body.scrollTo(0, 900));
  // The active row always stays in the page.
  await eventually(async () => Number(await rows(page).nth(1).getAttribute("aria-rowindex")) > 4);
}

async function addFlood(fromId: number, plants: number): Promise<void> {
  const bodies = Array.from({ length: plants }, (_, row) => `{"id":${fromId + row},"name":"Flood ${row}"}`);
  await Promise.all(bodies.map((body) => post(session.running.url, body)));
}
const see = (page: Page, text: string | RegExp) => page.getByText(text).first().waitFor();

afterAll(() => expect(session.pageErrors).toEqual([]));

describe("signing in", () => {
  test(
    "shows at the field why a token is refused",
    async () => {
      const page = await open("/", { token: "" });
      const attempt = async (token: string): Promise<string> => {
        await page.getByLabel("Token").fill(token);
        await page.getByRole("button", { name: "Sign in" }).click();
        await page.locator(".field-error").waitFor();
        return textOf(page, ".field-error");
      };
      expect(await attempt("")).toContain("Enter a token");
      expect(await attempt("not-a-token-that-is-known")).toContain("unknown, expired or revoked");
      expect(await attempt("schlüssel")).toContain("unknown, expired or revoked");
      expect(await attempt(accessToken)).toContain("lacks the scope “operator:read”");
      expect(await page.getByLabel("Token").getAttribute("aria-invalid")).toBe("true");
      expect(await textOf(page, ".how .code")).toContain("token create --name ops --scope operator");
    },
    testMs,
  );

  test(
    "hides the token, and does not let the browser save it",
    async () => {
      const page = await open("/", { token: "" });
      expect(await secretField(page, "Token")).toEqual({ type: "text", autocomplete: "off", shown: "disc" });
    },
    testMs,
  );

  test(
    "opens the requested page, survives a reload, and ends when signing out",
    async () => {
      const page = await open("/tokens", { token: "" });
      await page.getByLabel("Token").fill(session.secret);
      await page.getByRole("button", { name: "Sign in" }).click();
      await page.getByRole("heading", { name: "Tokens", level: 1 }).waitFor();
      await page.reload();
      await page.getByRole("heading", { name: "Tokens", level: 1 }).waitFor();
      await page.getByRole("button", { name: "Sign out" }).click();
      await page.getByLabel("Token").waitFor();
      expect(await page.evaluate("sessionStorage.length")).toBe(0);
    },
    testMs,
  );

  test(
    "shows one error at the field if the stored token is no longer valid",
    async () => {
      const page = await open("/", { token: "an-earlier-token" });
      await page.locator(".field-error").waitFor();
      expect((await textOf(page, ".sign-in form")).split("unknown, expired or revoked")).toHaveLength(2);
      expect(await page.evaluate("sessionStorage.length")).toBe(0);
    },
    testMs,
  );

  test(
    "with a token that only reads offers nothing that creates plants, and says what it may not do",
    async () => {
      const token = await makeToken(session.running, "auditor", ["operator:read"]);
      const page = await open("/plants", { token });
      await rows(page).first().waitFor();
      expect(await page.getByRole("navigation").getByRole("link").allTextContents()).toEqual([
        expect.stringContaining("Overview"),
        expect.stringContaining("Plants"),
      ]);
      const offered = page.locator("main").getByText(/add a plant|import/i);
      expect(await offered.count()).toBe(0);
      await page.getByRole("link", { name: "Overview" }).click();
      await page.locator(".latest a").first().waitFor();
      expect(await offered.count()).toBe(0);
      await page.goto(`${session.running.operatorUrl}/tokens`);
      await see(page, "Your token is read-only");
      await see(page, "Sign in with an operator token.");
      await page.goto(`${session.running.operatorUrl}/import`);
      await see(page, "Sign in with a token that has the scope “plants:create”.");
      expect(await page.locator("input[type=file]").count()).toBe(0);
    },
    testMs,
  );

  test(
    "ends with a notice when the token is revoked",
    async () => {
      const token = await makeToken(session.running, "ex-employee", ["operator"]);
      const page = await open("/tokens", { token });
      await chooseAction(page, "Revoke", "ex-employee");
      await see(page, "If you are signed in with this token");
      await page.getByRole("dialog").getByRole("button", { name: "Revoke ex-employee" }).click();
      await see(page, "This token has expired or was revoked.");
    },
    testMs,
  );
});

describe("the overview", () => {
  test(
    "shows the total, a chart and the health of the store, and updates live",
    async () => {
      const page = await open("/");
      const total = page.locator(".kpi-total .visually-hidden");
      await total.waitFor({ state: "attached" });
      const before = Number(((await total.textContent()) ?? "").replaceAll(",", ""));
      expect(before).toBeGreaterThanOrEqual(seeded);
      expect(await page.locator(".plot").getAttribute("aria-label")).toContain("12,400 plants");
      await see(page, "All plants are on disk");
      await see(page, "Disk space free");
      await page.getByText(`Version ${packageFile.version}`).waitFor();
      await see(page, "No backup yet");
      recordBackup(session.running.database, Date.now() - 3 * 3_600_000, { plants: 1, sha256: "" });
      await page.getByText("Last backup 3 hours ago").waitFor();
      await post(session.running.url, '{"id":500001,"name":"Counted live"}');
      await eventually(
        async () => Number(((await total.textContent()) ?? "").replaceAll(",", "")) === before + 1,
      );
      await page.locator(".latest").getByText("Counted live").waitFor();
    },
    testMs,
  );
});

describe("the overview of an empty store", () => {
  test(
    "shows how to send the first plant, and its figures once it is stored",
    async () => {
      await using empty = await startTestService();
      const token = await makeToken(empty, "ops", ["operator", "plants:create"]);
      const page = await newPage(session.browser);
      await page.addInitScript(`sessionStorage.setItem("plant-store-token", "${token}")`);
      await page.goto(empty.operatorUrl);
      await see(page, "Ready for the first plant");
      expect(await page.locator(".kpi, .chart").count()).toBe(0);
      const command = await textOf(page, ".empty .code");
      await post(empty.url, '{"name":"No id"}');
      await see(page, "40010 a required field is missing");
      const shell = Bun.spawn(["sh", "-c", command.replace("YOUR_TOKEN", token).replace("curl", "curl -s")]);
      expect(await new Response(shell.stdout).text()).toBe('{"name":"Fern","tag":"indoor"}');
      await page.locator(".latest").getByText("Fern").waitFor();
      await see(page, "All plants are on disk");
      await page.close();
    },
    testMs,
  );
});

describe("the plants table", () => {
  test(
    "loads more while scrolling, down to the first plant, with few rows in the page",
    async () => {
      const page = await open("/plants");
      await rows(page).first().waitFor();
      const mostRows = await page.evaluate<number>(scrollToEnd);
      await see(page, /^1\d,\d{3} plants$/);
      expect(mostRows).toBeLessThan(80);
      expect(await rows(page).last().locator(".cell-id").textContent()).toBe(String(idOf(1)));
      const counted = Number(await page.getByRole("table").getAttribute("aria-rowcount"));
      expect(Number(await rows(page).last().getAttribute("aria-rowindex"))).toBe(counted);
      expect(counted).toBeGreaterThan(seeded);

      // Distant pages were unloaded, and load again with a few requests.
      const requests: string[] = [];
      page.on("request", (request) => {
        if (!request.url().includes("after=")) requests.push(request.url());
      });
      await page.locator(".table-body").evaluate((body) => body.scrollTo(0, body.scrollHeight / 2));
      await eventually(
        async () => (await page.locator(".rows .row.blank").count()) === 0 && requests.length > 0,
      );
      await page.waitForResponse(/after=/);
      expect(requests.length).toBeLessThan(6);
      expect(Number(await rows(page).last().getAttribute("aria-rowindex"))).toBeLessThan(counted * 0.6);
    },
    testMs,
  );

  test(
    "keeps the search and the filters in the URL, across a reload",
    async () => {
      const page = await open("/plants");
      await page.getByLabel("Search by name").fill("MONSTERA deli");
      await page.waitForURL(/name=MONSTERA\+deli/);
      await see(page, /\d+ plants? match/);
      await page.getByRole("button", { name: "Tag", exact: true }).click();
      await page.getByLabel("Tag", { exact: true }).fill("perennial");
      await page.waitForURL(/tag=perennial/);
      await page.keyboard.press("Enter");
      await see(page, /\d+ plants? match/);
      await page.reload();
      await rows(page).first().waitFor();
      expect(await page.getByLabel("Search by name").inputValue()).toBe("MONSTERA deli");
      await page.getByRole("button", { name: "Tag: perennial", exact: true }).waitFor();
      expect(new Set(await page.locator(".rows .cell-name").allTextContents())).toEqual(
        new Set(["Monstera deliciosa"]),
      );
      await page.getByRole("button", { name: "Remove the filter Tag" }).click();
      await page.waitForURL(/name=MONSTERA\+deli$/);
      await page.getByRole("button", { name: "Clear" }).click();
      await page.waitForURL(/\/plants$/);
    },
    testMs,
  );

  test(
    "finds a plant by its id, explains an invalid id, and reverses the order",
    async () => {
      const page = await open("/plants");
      await page.getByRole("button", { name: "Id", exact: true }).click();
      await page.getByLabel("Id", { exact: true }).fill("12x");
      await see(page, "An id is an integer");
      await page.getByLabel("Id", { exact: true }).fill(String(idOf(7)));
      await page.waitForURL(/id=/);
      await see(page, "1 plant matches");
      expect(await page.locator(".rows .cell-id").allTextContents()).toEqual([String(idOf(7))]);
      await page.goto(`${session.running.operatorUrl}/plants?token=nobody&within=1h`);
      await see(page, "No plants match");
      await page.route("**/api/plants?*", (route) => route.fulfill({ json: { plants: [], searched: 1 } }));
      await page.goto(`${session.running.operatorUrl}/plants?name=zzz`);
      await see(page, "Searched 1 plant.");
      await page.unroute("**/api/plants?*");
      await page.getByRole("button", { name: "Clear filters" }).click();
      await page.getByRole("button", { name: "reverse the order" }).click();
      await page.waitForURL(/order=oldest/);
      await eventually(
        async () => (await page.locator(".rows .cell-id").first().textContent()) === String(idOf(1)),
      );
    },
    testMs,
  );

  test(
    "adds a new plant within a second or two, or announces it if the table is scrolled down",
    async () => {
      const page = await open("/plants");
      await rows(page).first().waitFor();
      await post(session.running.url, '{"id":500002,"name":"Fresh from the bed","tag":"new"}');
      await eventually(async () =>
        ((await rows(page).first().textContent()) ?? "").includes("Fresh from the bed"),
      );
      await scrollDown(page);
      const visible = await rows(page).nth(5).textContent();
      await post(session.running.url, '{"id":500003,"name":"While you were reading"}');
      await page.getByRole("button", { name: "1 new plant" }).waitFor();
      // Nothing moved.
      expect(await rows(page).nth(5).textContent()).toBe(visible);
      expect(await page.locator(".table-body").evaluate((body) => body.scrollTop)).toBe(900);
      await page.getByRole("button", { name: "1 new plant" }).click();
      await eventually(async () => (await names(page))[0] === "While you were reading");
      // After scrolling up by hand, the waiting ones are added, in order.
      await scrollDown(page);
      for (const [id, name] of Object.entries({ 500004: "Came first", 500005: "Came second" }))
        await post(session.running.url, `{"id":${id},"name":"${name}"}`);
      await page.getByRole("button", { name: "2 new plants" }).waitFor();
      await page.locator(".table-body").evaluate((body) => body.scrollTo(0, 0));
      await eventually(async () => (await names(page))[0] === "Came second");
      expect((await names(page)).slice(0, 3)).toEqual([
        "Came second",
        "Came first",
        "While you were reading",
      ]);
      expect(await page.locator(".pill").count()).toBe(0);
    },
    testMs,
  );

  test(
    "moves no row that someone points at or has reached with the keyboard",
    async () => {
      const page = await open("/plants");
      await rows(page).first().waitFor();
      const first = await names(page);
      await rows(page).first().locator("a").focus();
      await page.keyboard.press("ArrowDown");
      await post(session.running.url, '{"id":500006,"name":"Not now"}');
      await page.getByRole("button", { name: "1 new plant" }).waitFor();
      expect((await names(page)).slice(0, 3)).toEqual(first.slice(0, 3));
      expect(await page.evaluate("document.activeElement.textContent")).toBe(first[1] ?? "");
      await page.keyboard.press("/");
      await eventually(async () => (await names(page))[0] === "Not now");

      // The pointer keeps moving over the rows until the plant is announced.
      let isPointing = true;
      const pointing = (async () => {
        for (let at = 0; isPointing; at++)
          await rows(page)
            .nth(2)
            .hover({ position: { x: 5 + (at % 50), y: 5 } });
      })();
      await post(session.running.url, '{"id":500007,"name":"Nor now"}');
      await page.getByRole("button", { name: "1 new plant" }).waitFor();
      expect((await names(page))[0]).toBe("Not now");
      isPointing = false;
      await pointing;
      await eventually(async () => (await names(page))[0] === "Nor now", 10_000);
    },
    testMs,
  );

  test(
    "shows new plants that match the filter, and no others",
    async () => {
      const page = await open("/plants?tag=bromeliad&name=guz");
      await see(page, "No plants match");
      await post(session.running.url, '{"id":500010,"name":"Guzmania","tag":"lily"}');
      await post(session.running.url, '{"id":500011,"name":"Tillandsia","tag":"bromeliad"}');
      await post(session.running.url, '{"id":500012,"name":"GUZMANIA","tag":"bromeliad"}');
      await rows(page).first().waitFor();
      expect(await page.locator(".rows .cell-id").allTextContents()).toEqual(["500012"]);
    },
    testMs,
  );

  test(
    "catches up after a flood of plants",
    async () => {
      const page = await open("/plants");
      await rows(page).first().waitFor();
      await addFlood(700_000, 600);
      const headers = { Authorization: `Bearer ${session.secret}` };
      const response = await fetch(`${session.running.operatorUrl}/api/plants?limit=1`, { headers });
      const { plants } = (await response.json()) as { plants: readonly { id: string }[] };
      await eventually(
        async () => (await rows(page).first().locator(".cell-id").textContent()) === plants[0]?.id,
      );
    },
    testMs,
  );

  test(
    "announces a flood if the table is scrolled down",
    async () => {
      const page = await open("/plants");
      await rows(page).first().waitFor();
      await scrollDown(page);
      await addFlood(710_000, 300);
      await page.getByRole("button", { name: "New plants" }).click();
      await eventually(async () => (await names(page))[0]?.startsWith("Flood") === true);
      expect(await page.locator(".pill").count()).toBe(0);
    },
    testMs,
  );

  test(
    "is not polled while its tab is hidden, and catches up when it is visible again",
    async () => {
      const page = await open("/plants");
      await rows(page).first().waitFor();
      await page.waitForResponse(/after=/);
      const setHidden = (hidden: boolean) =>
        page.evaluate(`void (Object.defineProperty(document, "hidden", { value: ${hidden}, configurable: true }),
          document.dispatchEvent(new Event("visibilitychange")))`);
      await setHidden(true);
      let polls = 0;
      page.on("request", () => polls++);
      await post(session.running.url, '{"id":500020,"name":"Unseen"}');
      // Three times as long as it takes to poll.
      await Bun.sleep(3000);
      expect(polls).toBeLessThanOrEqual(1);
      expect((await names(page))[0]).not.toBe("Unseen");
      await setHidden(false);
      await eventually(async () => (await names(page))[0] === "Unseen");
    },
    testMs,
  );

  test(
    "says why new plants cannot be read, and goes on when they can; starts again in a restored store",
    async () => {
      const page = await open("/plants");
      await rows(page).first().waitFor();
      const answer = (status: number, error: number, message: string) =>
        page.route("**/api/plants?*after=*", (route) => route.fulfill({ status, json: { error, message } }));
      await answer(503, 50302, "The store cannot be read right now.");
      await see(page, "The store cannot be read right now.");
      await page.unroute("**/api/plants?*after=*");
      await post(session.running.url, '{"id":500030,"name":"Readable again"}');
      await eventually(async () => (await names(page))[0] === "Readable again");
      expect(await page.locator(".error-notice").count()).toBe(0);
      await answer(410, 41001, "The cursor is of another store.");
      const reloaded = page.waitForResponse(/api\/plants\?(?!.*after=)/);
      await reloaded;
      await page.unroute("**/api/plants?*after=*");
      await post(session.running.url, '{"id":500031,"name":"In the restored store"}');
      await eventually(async () => (await names(page))[0] === "In the restored store");
    },
    testMs,
  );

  test(
    "shows one plant, copies its exact id, and closes with Escape",
    async () => {
      await post(session.running.url, `{"id":${unsafeId},"name":"Beyond doubles","tag":"exact"}`);
      const page = await open(`/plants/${unsafeId}?tag=exact`, {
        permissions: ["clipboard-read", "clipboard-write"],
      });
      await page.getByRole("heading", { name: "Beyond doubles" }).waitFor();
      expect(await textOf(page, ".facts .exact")).toBe(unsafeId);
      await page.getByRole("button", { name: "Copy id" }).click();
      await see(page, "Copied");
      expect(await page.evaluate("navigator.clipboard.readText()")).toBe(unsafeId);
      await page.getByRole("button", { name: "Copy JSON" }).click();
      await eventually(
        async () =>
          (await page.evaluate("navigator.clipboard.readText()")) ===
          `{"id": ${unsafeId}, "name": "Beyond doubles", "tag": "exact"}`,
      );
      await page.keyboard.press("Escape");
      await page.waitForURL(/\/plants\?tag=exact$/);
      await page.goto(`${session.running.operatorUrl}/plants/424242`);
      await page.getByRole("heading", { name: "Plant not found" }).waitFor();
    },
    testMs,
  );

  test(
    "names the plant in the tab's title, also an odd one, and says where there is nothing",
    async () => {
      const odd: readonly (readonly [string, string])[] = [
        ["Tab fern", "Tab fern"],
        ["", "Plant 500041"],
        [`\u202e${"x".repeat(60_000)}`, `U+202E${"x".repeat(59)}… 60001 characters`],
      ];
      for (const [index, [name]] of odd.entries())
        await post(session.running.url, JSON.stringify({ id: 500_040 + index, name, tag: "tab" }));
      const page = await open("/plants?tag=tab");
      await rows(page).nth(2).waitFor();
      expect(await page.title()).toBe("Plants · Plant Store");
      for (const [index, [, title]] of odd.entries()) {
        await rows(page)
          .nth(2 - index)
          .click();
        await eventually(async () => (await page.title()) === `${title} · Plant Store`);
      }
      await page.keyboard.press("Escape");
      await eventually(async () => (await page.title()) === "Plants · Plant Store");
      for (const path of ["/nowhere", "/plants/", "/plants/%zz"]) {
        expect((await page.goto(session.running.operatorUrl + path))?.status()).toBe(404);
        await see(page, `There is nothing at ${path}`);
        expect(await page.title()).toBe("Page not found · Plant Store");
      }
      await page.getByRole("link", { name: "Go to the overview" }).click();
      await page.locator(".latest a").first().waitFor();
    },
    testMs,
  );

  test(
    "shows a name that contains HTML as text, and runs none of it",
    async () => {
      const hostile = '<img src=x onerror="document.title=1">"><script>document.title=2</script>';
      await post(session.running.url, JSON.stringify({ id: 666, name: hostile, tag: "hostile" }));
      const page = await open("/plants?tag=hostile");
      await rows(page).first().waitFor();
      expect(await rows(page).first().textContent()).toContain(hostile);
      await rows(page).first().click();
      await page.getByText(hostile).last().waitFor();
      expect(await page.title()).not.toMatch(/^\d$/);
      expect(await page.locator("img[src=x]").count()).toBe(0);
    },
    testMs,
  );

  test(
    "exports the plants that match",
    async () => {
      const page = await open("/plants?tag=fern");
      await rows(page).first().waitFor();
      const lines: string[][] = [];
      for (const name of ["NDJSON", "CSV"]) {
        const waiting = page.waitForEvent("download");
        await page.getByRole("button", { name: "Export", exact: true }).click();
        await page.getByRole("button", { name: `Plants that match as ${name}` }).click();
        lines.push((await contentOf(await waiting)).toString().trim().split(/\r?\n/));
      }
      const ferns = storedPlants(session.running.database).filter(({ tag }) => tag === "fern");
      expect(ferns.length).toBeGreaterThan(10);
      expect(lines.map(({ length }) => length)).toEqual([ferns.length, ferns.length + 1]);
      expect(lines[0]?.every((line) => line.includes('"fern"'))).toBe(true);
      // The variant in which no spreadsheet finds a formula.
      expect(lines[1]?.[0]).toStartWith("id,safe_name,safe_tag,");
    },
    testMs,
  );

  test(
    "shows a working example if there are no plants yet",
    async () => {
      await using empty = await startTestService();
      const token = await makeToken(empty, "ops", ["operator", "plants:create"]);
      const page = await newPage(session.browser);
      await page.addInitScript(`sessionStorage.setItem("plant-store-token", "${token}")`);
      await page.goto(`${empty.operatorUrl}/plants`);
      await page.getByRole("heading", { name: "No plants yet" }).waitFor();
      const command = await textOf(page, ".empty .code");
      expect(command).toStartWith(`curl ${empty.url}/plants `);
      const shell = Bun.spawn(["sh", "-c", command.replace("YOUR_TOKEN", token).replace("curl", "curl -s")]);
      expect(await new Response(shell.stdout).text()).toBe('{"name":"Fern","tag":"indoor"}');
      await page.locator(".rows").getByText("Fern").waitFor();
      await page.close();
    },
    testMs,
  );
});
