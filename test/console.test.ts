import { afterAll, expect } from "bun:test";
import { readFileSync } from "node:fs";
import type { Page } from "playwright-core";
import { describe, test } from "./browser.ts";
import { makeToken, useConsole } from "./console-session.ts";
import { accessToken, eventually, post, startTestService, storedPlants } from "./harness.ts";
import { idOf } from "./seeded-store.ts";

const seeded = 12_400;
const unsafeId = "9007199254740993";
const testMs = 30_000;
// The feed tells of what comes after its first look.
const feedBeginsMs = 600;
const session = useConsole(seeded);
const { open } = session;

// Down, and down again as more is loaded; gives back the most rows that the page ever held.
const scrollToEnd = `(async () => {
  const body = document.querySelector(".table-body");
  let most = 0;
  const isOver = () => /that is all/.test(document.querySelector(".progress-line").textContent);
  for (let over = false; ; ) {
    body.scrollTo(0, body.scrollHeight);
    await new Promise((done) => setTimeout(done, 10));
    most = Math.max(most, body.querySelectorAll(".row").length);
    // Once more after the end is known, since the last rows made it longer.
    if (over) return most;
    over = isOver();
  }
})()`;

const rows = (page: Page) => page.locator(".rows .row");
const textOf = async (page: Page, selector: string) => (await page.locator(selector).textContent()) ?? "";
const see = (page: Page, text: string | RegExp) => page.getByText(text).first().waitFor();

afterAll(() => expect(session.complaints).toEqual([]));

describe("signing in", () => {
  test(
    "says at the field what is wrong with a token",
    async () => {
      const page = await open("/", { token: "" });
      const attempt = async (token: string): Promise<string> => {
        await page.getByLabel("Token").fill(token);
        await page.getByRole("button", { name: "Sign in" }).click();
        await page.locator(".problem").waitFor();
        return textOf(page, ".problem");
      };
      expect(await attempt("")).toContain("Paste a token");
      expect(await attempt("not-a-token-that-is-known")).toContain("does not know this token");
      expect(await attempt("schlüssel")).toContain("does not know this token");
      expect(await attempt(accessToken)).toContain("lacks the scope “operator”");
      expect(await page.getByLabel("Token").getAttribute("aria-invalid")).toBe("true");
      expect(await textOf(page, ".how .code")).toContain("token create --name ops --scope operator");
    },
    testMs,
  );

  test(
    "opens the page that was asked for, survives a reload, and ends with signing out",
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
    "says once, at the field, that a token from before is no good any more",
    async () => {
      const page = await open("/", { token: "a-token-from-before" });
      await page.locator(".problem").waitFor();
      expect((await textOf(page, ".sign-in form")).split("does not know")).toHaveLength(2);
      expect(await page.evaluate("sessionStorage.length")).toBe(0);
    },
    testMs,
  );

  test(
    "ends with words when the token is revoked",
    async () => {
      const token = await makeToken(session.running, "leaver", ["operator"]);
      const page = await open("/tokens", { token });
      await page.getByRole("button", { name: "Revoke leaver" }).click();
      await see(page, "You may be signed in with this very token");
      await page.getByRole("dialog").getByRole("button", { name: "Revoke leaver" }).click();
      await see(page, "This token is not valid any more");
    },
    testMs,
  );
});

describe("the overview", () => {
  test(
    "shows the total, a chart, the health of the store, and counts up live",
    async () => {
      const page = await open("/");
      const total = page.locator(".lead-figure .number .unseen");
      await total.waitFor({ state: "attached" });
      const before = Number(((await total.textContent()) ?? "").replaceAll(",", ""));
      expect(before).toBeGreaterThanOrEqual(seeded);
      expect(await page.locator(".chart canvas").count()).toBe(1);
      expect(await page.locator(".chart-holder").getAttribute("aria-label")).toContain("12,400 plants");
      await see(page, "Healthy");
      await see(page, "left on the disk");
      await page.locator(".light.live").waitFor();
      await Bun.sleep(feedBeginsMs);
      await post(session.running.url, '{"id":500001,"name":"Counted live"}');
      await eventually(
        async () => Number(((await total.textContent()) ?? "").replaceAll(",", "")) === before + 1,
      );
      await page.locator(".latest").getByText("Counted live").waitFor();
    },
    testMs,
  );

  test(
    "leads from a tag to its plants",
    async () => {
      const page = await open("/");
      await page.locator(".bars a").first().click();
      await rows(page).first().waitFor();
      expect(page.url()).toContain("/plants?tag=perennial");
      expect(new Set(await page.locator(".rows .cell-tag").allTextContents())).toEqual(
        new Set(["perennial"]),
      );
    },
    testMs,
  );
});

describe("the plants table", () => {
  test(
    "goes on as one scrolls, to the very first plant, with few rows in the page",
    async () => {
      const page = await open("/plants");
      await rows(page).first().waitFor();
      const mostRows = await page.evaluate<number>(scrollToEnd);
      await see(page, "that is all of them");
      expect(mostRows).toBeLessThan(80);
      expect(await rows(page).last().locator(".cell-id").textContent()).toBe(String(idOf(1)));
      const counted = Number(await page.getByRole("table").getAttribute("aria-rowcount"));
      expect(Number(await rows(page).last().getAttribute("aria-rowindex"))).toBe(counted);
      expect(counted).toBeGreaterThan(seeded);

      // What is far away was let go of, and comes again with a few requests, not with all.
      const asked: string[] = [];
      page.on("request", (request) => asked.push(request.url()));
      await page.locator(".table-body").evaluate((body) => body.scrollTo(0, body.scrollHeight / 2));
      await eventually(
        async () => (await page.locator(".rows .row.blank").count()) === 0 && asked.length > 0,
      );
      await Bun.sleep(feedBeginsMs);
      expect(asked.length).toBeLessThan(6);
      expect(Number(await rows(page).last().getAttribute("aria-rowindex"))).toBeLessThan(counted * 0.6);
    },
    testMs,
  );

  test(
    "keeps search and filters in the address, and finds them there again",
    async () => {
      const page = await open("/plants");
      await page.getByLabel("Search by name").fill("MONSTERA deli");
      await page.waitForURL(/name=MONSTERA\+deli/);
      await see(page, /Found \d+ plants? among/);
      await page.getByLabel("Tag").fill("perennial");
      await page.waitForURL(/tag=perennial/);
      await see(page, /Found \d+ plants? among/);
      await page.reload();
      await rows(page).first().waitFor();
      expect(await page.getByLabel("Search by name").inputValue()).toBe("MONSTERA deli");
      expect(await page.getByLabel("Tag").inputValue()).toBe("perennial");
      expect(new Set(await page.locator(".rows .cell-name").allTextContents())).toEqual(
        new Set(["Monstera deliciosa"]),
      );
      await page.getByRole("button", { name: "Clear" }).click();
      await page.waitForURL(/\/plants$/);
    },
    testMs,
  );

  test(
    "finds a plant by its id, says what an id is, and turns the order round",
    async () => {
      const page = await open("/plants");
      await page.getByLabel("Id", { exact: true }).fill("12x");
      await see(page, "An id is a whole number");
      await page.getByLabel("Id", { exact: true }).fill(String(idOf(7)));
      await page.waitForURL(/id=/);
      await see(page, "1 plant, and that is all of them.");
      expect(await page.locator(".rows .cell-id").allTextContents()).toEqual([String(idOf(7))]);
      await page.goto(`${session.running.operatorUrl}/plants?token=nobody&within=1h`);
      await see(page, "No plant matches");
      await page.getByRole("button", { name: "Clear the filters" }).click();
      await page.getByRole("button", { name: /Created/ }).click();
      await page.waitForURL(/order=oldest/);
      await eventually(
        async () => (await page.locator(".rows .cell-id").first().textContent()) === String(idOf(1)),
      );
    },
    testMs,
  );

  test(
    "shows a plant the moment it is stored, or waits with it while one reads further down",
    async () => {
      const page = await open("/plants");
      await rows(page).first().waitFor();
      await page.locator(".light.live").waitFor();
      await Bun.sleep(feedBeginsMs);
      await post(session.running.url, '{"id":500002,"name":"Fresh from the bed","tag":"new"}');
      await eventually(async () =>
        ((await rows(page).first().textContent()) ?? "").includes("Fresh from the bed"),
      );
      await page.locator(".table-body").evaluate((body) => body.scrollTo(0, 900));
      // The row that the arrow keys are on stays, wherever one scrolls.
      await eventually(async () => Number(await rows(page).nth(1).getAttribute("aria-rowindex")) > 4);
      await post(session.running.url, '{"id":500003,"name":"While you were reading"}');
      await page.getByRole("button", { name: "1 new plant" }).click();
      await eventually(async () =>
        ((await rows(page).first().textContent()) ?? "").includes("While you were reading"),
      );
      // Whoever scrolls up by hand finds them in their order too, with the next that comes.
      await page.locator(".table-body").evaluate((body) => body.scrollTo(0, 900));
      await eventually(async () => Number(await rows(page).nth(1).getAttribute("aria-rowindex")) > 4);
      await post(session.running.url, '{"id":500004,"name":"Came first"}');
      await page.getByRole("button", { name: "1 new plant" }).waitFor();
      await page.locator(".table-body").evaluate((body) => body.scrollTo(0, 0));
      await rows(page).first().locator("a").focus();
      await post(session.running.url, '{"id":500005,"name":"Came second"}');
      const names = () => page.locator(".rows .cell-name").allTextContents();
      await eventually(async () => (await names())[0] === "Came second");
      expect((await names()).slice(0, 3)).toEqual(["Came second", "Came first", "While you were reading"]);
      expect(await page.locator(".pill").count()).toBe(0);
      // The focus stays with the plant that it was on.
      expect(await page.evaluate("document.activeElement.textContent")).toBe("While you were reading");
    },
    testMs,
  );

  test(
    "catches up with more plants than a person could read",
    async () => {
      const page = await open("/plants");
      await rows(page).first().waitFor();
      await page.locator(".light.live").waitFor();
      await Bun.sleep(feedBeginsMs);
      const flood = Array.from({ length: 600 }, (_, row) => `{"id":${700_000 + row},"name":"Flood ${row}"}`);
      await Promise.all(flood.map((body) => post(session.running.url, body)));
      const headers = { Authorization: `Bearer ${session.secret}` };
      const answer = await fetch(`${session.running.operatorUrl}/api/plants?limit=1`, { headers });
      const { plants } = (await answer.json()) as { plants: readonly { id: string }[] };
      await eventually(
        async () => (await rows(page).first().locator(".cell-id").textContent()) === plants[0]?.id,
      );
    },
    testMs,
  );

  test(
    "shows one plant with its exact id to copy, and closes with Escape",
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
      await page.getByRole("heading", { name: "No such plant" }).waitFor();
    },
    testMs,
  );

  test(
    "exports what the filters leave",
    async () => {
      const page = await open("/plants?tag=fern");
      await rows(page).first().waitFor();
      const lines: string[][] = [];
      for (const name of ["NDJSON", "CSV"]) {
        const waiting = page.waitForEvent("download");
        await page.getByRole("button", { name: `Export the plants that match as ${name}` }).click();
        lines.push(
          readFileSync(await (await waiting).path(), "utf8")
            .trim()
            .split(/\r?\n/),
        );
      }
      const ferns = storedPlants(session.running.database).filter(({ tag }) => tag === "fern");
      expect(ferns.length).toBeGreaterThan(10);
      expect(lines.map(({ length }) => length)).toEqual([ferns.length, ferns.length + 1]);
      expect(lines[0]?.every((line) => line.includes('"fern"'))).toBe(true);
    },
    testMs,
  );

  test(
    "teaches, where there are no plants yet",
    async () => {
      await using empty = await startTestService();
      const token = await makeToken(empty, "ops", ["operator", "plants:create"]);
      const page = await session.browser.newPage();
      await page.addInitScript(`sessionStorage.setItem("plant-store-token", "${token}")`);
      await page.goto(`${empty.operatorUrl}/plants`);
      await page.getByRole("heading", { name: "No plants yet" }).waitFor();
      const command = await textOf(page, ".empty .code");
      await page.locator(".light.live").waitFor();
      await Bun.sleep(feedBeginsMs);
      const shell = Bun.spawn(["sh", "-c", command.replace("YOUR_TOKEN", token).replace("curl", "curl -s")]);
      expect(await new Response(shell.stdout).text()).toBe('{"name":"Fern","tag":"indoor"}');
      await page.locator(".rows").getByText("Fern").waitFor();
      await page.close();
    },
    testMs,
  );
});
