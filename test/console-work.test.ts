import { afterAll, expect } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import type { Page } from "playwright-core";
import { contentOf, describe, test } from "./browser.ts";
import { chooseAction, makeToken, useConsole } from "./console-session.ts";
import { eventually, post, storedPlants, temporaryFolder } from "./harness.ts";

const unsafeId = "9007199254740993";
const testMs = 30_000;
const session = useConsole(50);
const { open } = session;

afterAll(() => expect(session.pageErrors).toEqual([]));

const see = (page: Page, text: string | RegExp) => page.getByText(text).first().waitFor();
const find = (id: bigint) => storedPlants(session.running.database).find((plant) => plant.id === id);

describe("adding a plant", () => {
  async function add(page: Page, plant: { id: string; name?: string; tag?: string }): Promise<void> {
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Id").fill(plant.id);
    await dialog.getByLabel("Name").fill(plant.name ?? "Fern");
    await dialog.getByLabel("Tag").fill(plant.tag ?? "");
    await dialog.getByRole("button", { name: "Add plant" }).click();
  }

  test(
    "stores an id that no double can represent, and reports a replay",
    async () => {
      const page = await open("/");
      await page.getByRole("button", { name: "Add a plant" }).click();
      expect(await page.evaluate("document.activeElement.name")).toBe("id");
      await add(page, { id: "1e3", name: "A thousand" });
      await see(page, "The plant is stored.");
      expect(await page.getByRole("link", { name: /Show/ }).count()).toBe(0);
      await add(page, { id: unsafeId, name: 'O\'Fern "quoted"', tag: "indoor" });
      await page.getByRole("link", { name: /Show O'Fern/ }).waitFor();
      await see(page, "The plant is stored.");
      expect(find(BigInt(unsafeId))).toMatchObject({ name: 'O\'Fern "quoted"', tag: "indoor" });
      await add(page, { id: unsafeId, name: 'O\'Fern "quoted"', tag: "indoor" });
      await see(page, "This plant is already stored");
      await page.getByRole("link", { name: /Show O'Fern/ }).click();
      await page.waitForURL(`**/plants/${unsafeId}`);
      await page.getByRole("complementary").getByText(unsafeId).first().waitFor();
    },
    testMs,
  );

  test(
    "shows each error at the field that it names",
    async () => {
      await post(session.running.url, '{"id":7,"name":"First"}');
      const page = await open("/plants");
      await page.getByRole("button", { name: "Add a plant" }).click();
      const errorAt = async (label: string): Promise<string> => {
        const field = page.getByRole("dialog").getByLabel(label);
        await page.locator(".field-error").first().waitFor();
        const descriptionId = await field.getAttribute("aria-describedby");
        return (await page.locator(`[id="${descriptionId}"]`).textContent()) ?? "";
      };
      await add(page, { id: "9223372036854775808" });
      expect(await errorAt("Id")).toContain("must be a whole number from -9223372036854775808");
      await add(page, { id: "12 apples" });
      expect(await errorAt("Id")).toContain('but is the string "12 apples"');
      await add(page, { id: "7", name: "Other" });
      expect(await errorAt("Id")).toContain("already belongs to a plant with a different name");
      expect(await page.evaluate("document.activeElement.name")).toBe("id");
      await page.getByRole("button", { name: "Generate" }).click();
      const generated = await page.getByRole("dialog").getByLabel("Id").inputValue();
      expect(BigInt(generated)).toBeLessThan(2n ** 63n);
      await page.keyboard.press("Escape");
      await page.getByRole("dialog").waitFor({ state: "detached" });
    },
    testMs,
  );
});

describe("importing a file", () => {
  async function importFile(
    page: Page,
    name: string,
    text: string | Uint8Array,
    ended = "Done",
  ): Promise<string[]> {
    await page.locator("input[type=file]").setInputFiles({
      name,
      mimeType: "application/octet-stream",
      buffer: Buffer.from(text),
    });
    await page.getByRole("button", { name: "Start import" }).click();
    await page.getByRole("heading", { name: `${ended}: ${name}` }).waitFor();
    return page.locator(".tally dd").allTextContents();
  }

  async function download(page: Page, button: string): Promise<string> {
    const waiting = page.waitForEvent("download");
    await page.getByRole("button", { name: button }).click();
    return (await contentOf(await waiting)).toString();
  }

  test(
    "reports created, already stored and refused rows, with reasons and downloads",
    async () => {
      const page = await open("/import");
      const good = '{"id": 9007199254740995, "name": "From a file"}';
      const lines = [good, '{"name": "No id"}', good, "{not json", '{"id": 61, "name": "Last"}'];
      expect(await importFile(page, "plants.ndjson", lines.join("\n"))).toEqual(["2", "1", "2"]);
      expect(find(9007199254740995n)).toMatchObject({ name: "From a file" });
      const refused = await page.locator(".scroll-box tbody tr").allTextContents();
      expect(refused).toEqual([
        expect.stringContaining('2Field "id" is missing'),
        expect.stringContaining("4The row is not valid JSON"),
      ]);
      expect(await download(page, "Download refused rows")).toBe('{"name": "No id"}\n{not json\n');
      const report = await download(page, "Download report");
      expect(report.trim().split("\r\n")).toHaveLength(6);
      expect(report).toContain("\r\n5,created,,\r\n");
      expect(report).toMatch(/^2,refused,40010,"Field ""id"" is missing/m);
    },
    testMs,
  );

  test(
    "also reads CSV and a JSON array",
    async () => {
      const page = await open("/import");
      expect(await importFile(page, "plants.csv", 'id,name,tag\n71,"Oak, old",tree\n72x,Elm,\n')).toEqual([
        "1",
        "0",
        "1",
      ]);
      expect(find(71n)).toMatchObject({ name: "Oak, old", tag: "tree" });
      expect(await download(page, "Download refused rows")).toBe("id,name,tag\n72x,Elm,\n");
      expect(
        await importFile(page, "plants.json", '[{"id": 81, "name": "One"},\n {"id": 82, "name": "Two"}]'),
      ).toEqual(["2", "0", "0"]);
    },
    testMs,
  );

  test(
    "reads what a spreadsheet saves, even compressed, and says what it detected",
    async () => {
      const page = await open("/import");
      const file = gzipSync("\ufeffid;name;tag\r\n1191;Árbol;indoor\r\nx;Elm;\r\n1192;Oak;\r\n");
      expect(await importFile(page, "sheet.csv.gz", file)).toEqual(["2", "0", "1"]);
      await see(page, "Read as CSV separated by semicolons, gzip.");
      expect(await download(page, "Download refused rows")).toBe("id;name;tag\nx;Elm;\n");
      await page.locator("input[type=file]").setInputFiles({
        name: "cut.csv.gz",
        mimeType: "application/gzip",
        buffer: file.subarray(0, 30),
      });
      await page.getByRole("button", { name: "Start import" }).click();
      await see(page, "cut.csv.gz cannot be decompressed.");
    },
    testMs,
  );

  test(
    "stores what comes before a broken quote, says in which line it is, and cannot be resumed",
    async () => {
      const page = await open("/import");
      const text = 'id,name\n1291,Oak\nx,Elm\n1292,5" pot\n1293,Fern\n';
      expect(await importFile(page, "broken.csv", text, "Failed")).toEqual(["1", "0", "1"]);
      await see(page, "The row that starts on line 4 has a quote inside a field");
      expect(await page.getByRole("button", { name: "Resume" }).count()).toBe(0);
      expect(find(1291n)).toMatchObject({ name: "Oak" });
      expect(find(1293n)).toBeUndefined();
      expect(await download(page, "Download refused rows")).toBe("id,name\nx,Elm\n");
    },
    testMs,
  );

  test(
    "ends at an element that is longer than any request, and says where it is",
    async () => {
      const page = await open("/import");
      const requests: string[] = [];
      page.on("request", (request) => requests.push(request.url()));
      const text = `[{"id":1391,"name":"Oak"},\n{"id":1392,"name":"${"x".repeat(9_000_000)}"},{"id":1393,"name":"Elm"}]`;
      expect(await importFile(page, "long.json", text, "Failed")).toEqual(["1", "0", "0"]);
      await see(page, /Line 2, element 2: The element is longer than 65536 bytes/);
      expect(await page.getByRole("button", { name: "Resume" }).count()).toBe(0);
      expect(requests.filter((url) => url.includes("/api/imports")).length).toBeLessThan(10);
      expect(find(1391n)).toMatchObject({ name: "Oak" });
      expect(find(1393n)).toBeUndefined();
    },
    testMs,
  );

  test(
    "of which no part can be accepted, or which has changed, cannot be resumed",
    async () => {
      const page = await open("/import");
      const answer = (error: number) =>
        page.route("**/api/imports*", (route) =>
          route.fulfill({ status: 413, json: { error, message: "No." } }),
        );
      await answer(41301);
      await importFile(page, "refused.ndjson", '{"id": 1, "name": "One"}', "Failed");
      expect(await page.getByRole("button", { name: "Resume" }).count()).toBe(0);

      using folder = temporaryFolder();
      const path = join(folder.path, "edited.ndjson");
      writeFileSync(path, '{"id": 1, "name": "One"}\n');
      await page.locator("input[type=file]").setInputFiles(path);
      await page.getByRole("button", { name: "Start import" }).waitFor();
      writeFileSync(path, '{"id": 1, "name": "One"}\n{"id": 2, "name": "Two"}\n');
      await page.getByRole("button", { name: "Start import" }).click();
      await see(page, "edited.ndjson was changed or removed after you chose it. Choose it again.");
      expect(await page.getByRole("button", { name: "Resume" }).count()).toBe(0);
    },
    testMs,
  );

  test(
    "is on every page while it runs, and can be stopped and resumed, even in the next session",
    async () => {
      const scopes = ["operator", "plants:create"];
      // So slow that it is running for as long as the test needs it to.
      const slow = await makeToken(session.running, "slow", scopes, "100/s");
      const next = await makeToken(session.running, "next", scopes);
      const page = await open("/import", { token: "" });
      await page.getByLabel("Token").fill(slow);
      await page.keyboard.press("Enter");
      const lines = Array.from({ length: 3000 }, (_, row) => `{"id": ${row + 10_000}, "name": "Row ${row}"}`);
      await page.locator("input[type=file]").setInputFiles({
        name: "long.ndjson",
        mimeType: "application/octet-stream",
        buffer: Buffer.from(lines.join("\n")),
      });
      await page.getByRole("button", { name: "Start import" }).click();
      await page.getByRole("link", { name: "Tokens" }).click();
      await page.getByRole("heading", { name: "Tokens", level: 1 }).waitFor();
      await page.getByRole("link", { name: /^Importing \d+%$/ }).click();
      await page.getByRole("button", { name: "Stop" }).click();
      await page.getByRole("heading", { name: "Stopped: long.ndjson" }).waitFor();
      await page.getByRole("button", { name: "Resume" }).click();
      await page.getByRole("heading", { name: "Importing: long.ndjson" }).waitFor();

      await page.getByRole("link", { name: "Tokens" }).click();
      await chooseAction(page, "Revoke", "slow");
      await page.getByRole("dialog").getByRole("button", { name: "Revoke slow" }).click();
      await see(page, "This token has expired or was revoked");
      await page.getByLabel("Token").fill(next);
      await page.keyboard.press("Enter");
      await page.getByRole("link", { name: "Import", exact: true }).click();
      await page.getByRole("button", { name: "Resume" }).click();
      await page.getByRole("heading", { name: "Done: long.ndjson" }).waitFor();
      const [created = "", replayed = "", refused = ""] = await page.locator(".tally dd").allTextContents();
      const count = (text: string) => Number(text.replaceAll(",", ""));
      expect([count(created) + count(replayed), count(refused)]).toEqual([3000, 0]);
      expect((await download(page, "Download report")).trim().split("\r\n")).toHaveLength(3001);
    },
    testMs,
  );
});

describe("tokens", () => {
  test(
    "are created with a secret that is shown once, rotated and revoked",
    async () => {
      const page = await open("/tokens");
      await page.getByRole("button", { name: "Create a token" }).click();
      const dialog = page.getByRole("dialog");
      await dialog.getByRole("button", { name: "Create token" }).click();
      await see(page, "Enter a name of 1 to 64 characters.");
      await dialog.getByLabel("Name").fill("robot");
      await dialog.getByLabel("Expires").selectOption("90d");
      await dialog.getByLabel("Rate limit").fill("fast");
      await dialog.getByRole("button", { name: "Create token" }).click();
      await see(page, "must be a count per second, minute or hour");
      expect(await dialog.getByLabel("Name").getAttribute("aria-invalid")).toBe("false");
      expect(await dialog.getByLabel("Rate limit").getAttribute("aria-invalid")).toBe("true");
      expect(await page.evaluate("document.activeElement.name")).toBe("rateLimit");
      await dialog.getByLabel("Rate limit").fill("500/s");
      await dialog.getByRole("button", { name: "Create token" }).click();
      const first = (await page.locator(".secret").textContent()) ?? "";
      expect(first).toMatch(/^pst_\w{49}$/);
      await page.getByRole("button", { name: "I have saved it" }).click();
      expect(await statusWith(first)).toBe(200);
      const row = await page.getByRole("row", { name: /robot/ }).textContent();
      for (const text of ["expires in 2 months", "500/s", "by ops"]) expect(row).toContain(text);

      await chooseAction(page, "Rotate", "robot");
      await dialog.getByLabel("The old secret stays valid for").selectOption("0s");
      await dialog.getByRole("button", { name: "Rotate", exact: true }).click();
      const second = (await page.locator(".secret").textContent()) ?? "";
      expect(second).not.toBe(first);
      await page.getByRole("button", { name: "I have saved it" }).click();
      expect([await statusWith(first), await statusWith(second)]).toEqual([401, 200]);

      await chooseAction(page, "Revoke", "robot");
      await dialog.getByRole("heading", { name: "Revoke “robot”?" }).waitFor();
      await dialog.getByRole("button", { name: "Revoke robot" }).click();
      await dialog.waitFor({ state: "detached" });
      await page.locator(".tokens tr.revoked").getByText("robot").waitFor();
      expect(await statusWith(second)).toBe(401);
    },
    testMs,
  );

  test(
    "and sign-ins are in the audit trail, older entries behind a button",
    async () => {
      const page = await open("/audit", { token: "" });
      await page.getByLabel("Token").fill(session.secret);
      await page.getByRole("button", { name: "Sign in" }).click();
      const rows = page.locator(".audit tbody tr");
      await rows.first().waitFor();
      expect(await rows.first().textContent()).toMatch(/Signed in.*ops.*127\.0\.0\.1.*operator/);
      const headers = { Authorization: `Bearer ${session.secret}` };
      for (let count = 0; count < 100; count++)
        await (await fetch(`${session.running.operatorUrl}/api/export?tag=none`, { headers })).text();
      await page.reload();
      await eventually(async () => (await rows.count()) === 100);
      await page.getByRole("button", { name: "Show older entries" }).click();
      await page.getByText("Created a token").first().waitFor();
      expect(await rows.count()).toBeGreaterThan(100);
    },
    testMs,
  );

  async function statusWith(secret: string): Promise<number> {
    const headers = { Authorization: `Bearer ${secret}` };
    return (await post(session.running.url, '{"id":91,"name":"By robot"}', headers)).status;
  }
});
