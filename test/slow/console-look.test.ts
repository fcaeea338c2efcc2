import { expect } from "bun:test";
import type { Page } from "playwright-core";
import { describe, test } from "../browser.ts";
import { chooseAction, makeToken, useConsole } from "../console-session.ts";
import { eventually, post, startTestService } from "../harness.ts";
import { startTcpProxy } from "../tcp-proxy.ts";

const session = useConsole(300);
const { open } = session;

const rows = (page: Page) => page.locator(".rows .row");

type ChangeOverview = (overview: Overview) => unknown;
// biome-ignore lint/suspicious/noExplicitAny: the response of the operator API
type Overview = any;

/** Loads the overview with other figures. */
async function reloadWith(page: Page, change: ChangeOverview): Promise<void> {
  await page.unrouteAll();
  await page.route("**/api/overview", async (route) => {
    const overview = await (await route.fetch()).json();
    change(overview);
    await route.fulfill({ json: overview });
  });
  await page.reload();
  await page.locator(".ticks span").first().waitFor();
}

const widthsPx = [360, 768, 1024, 1280, 1440, 2560];

describe("the chart", () => {
  const textsOf = (page: Page, selector: string) => page.locator(selector).allTextContents();

  test("is as wide as its card, with dates, and no label is cut, at every width", async () => {
    const page = await open("/");
    for (const creates of [640_000, 1])
      for (const width of widthsPx) {
        await page.setViewportSize({ width, height: 900 });
        await reloadWith(page, (overview) => {
          for (const counts of [overview.perMinute, overview.perHour]) counts.creates.fill(creates);
        });
        for (const range of ["1 h", "3 h", "24 h", "7 d"]) {
          await page.getByRole("button", { name: range }).click();
          const { cut, overlapping, excessPx } = await page.evaluate<ChartLook>(chartLook);
          expect([width, range, cut, overlapping]).toEqual([width, range, [], []]);
          expect(Math.abs(excessPx)).toBeLessThan(1);
          const counts = await textsOf(page, ".band.created .grid-line");
          const expected =
            creates === 1 ? ["1 ", "2 ", "3 ", "4 created"] : ["200K ", "400K ", "600K ", "800K created"];
          expect(counts).toEqual(expected);
          const dates = (await textsOf(page, ".ticks span")).filter((text) => /^\d+ [A-Z]\w+$/.test(text));
          if (range === "7 d") expect(dates.length).toBeGreaterThan(2);
          if (range === "24 h") expect(dates).toHaveLength(1);
        }
      }
  });

  test("has refusals in a band of their own, with a scale of its own, also beside many creates", async () => {
    const page = await open("/");
    await reloadWith(page, (overview) => {
      overview.perMinute.creates.fill(640_000);
      overview.perMinute.refusals.fill(1).splice(-1, 1, 2);
    });
    expect(await textsOf(page, ".band.refused .grid-line")).toEqual(["2 refused"]);
    const created = await page.locator(".band.created").boundingBox();
    const bars = await page.locator(".band.refused path").boundingBox();
    expect(bars?.y).toBeGreaterThan((created?.y ?? 0) + (created?.height ?? 0));
    expect(bars?.height).toBeGreaterThan(40);
  });
});

interface ChartLook {
  /** Labels that reach past the card. */
  readonly cut: readonly string[];
  /** Labels of the time axis that overlap. */
  readonly overlapping: readonly string[];
  /** By how much the plot is narrower or wider than what is above it. */
  readonly excessPx: number;
}

const chartLook = `(() => {
  const boxOf = (element) => element.getBoundingClientRect();
  const plot = boxOf(document.querySelector(".plot"));
  const head = boxOf(document.querySelector(".panel:has(.plot) .card-head"));
  const labels = [...document.querySelectorAll(".ticks span, .grid-line > span")];
  const ticks = [...document.querySelectorAll(".ticks span")];
  const textsOf = (elements) => elements.map((element) => element.textContent);
  return {
    cut: textsOf(labels.filter((label) => boxOf(label).left < plot.left - 1 || boxOf(label).right > plot.right + 1)),
    overlapping: textsOf(ticks.filter((tick, at) => at > 0 && boxOf(tick).left < boxOf(ticks[at - 1]).right + 4)),
    excessPx: plot.width - head.width,
  };
})()`;

describe("the table", () => {
  test("has whole rows that neither overlap nor stop short of the frame, at any width", async () => {
    const page = await open("/plants", { viewport: { width: 1440, height: 777 } });
    await rows(page).first().waitFor();
    for (const width of [2560, 1440, 1024, 768, 767, 360]) {
      await page.setViewportSize({ width, height: 777 });
      await eventually(async () => (await faultOf(page)) === "");
    }
  });

  /** What is wrong with the rows, or "". */
  const faultOf = (page: Page) =>
    page.evaluate<string>(`(() => {
      const body = document.querySelector(".table-body").getBoundingClientRect();
      const card = document.querySelector(".table-card").getBoundingClientRect();
      const rows = [...document.querySelectorAll(".rows .row")].map((row) => row.getBoundingClientRect());
      rows.sort((a, b) => a.top - b.top);
      for (let at = 1; at < rows.length; at++)
        if (Math.abs(rows[at].top - rows[at - 1].bottom) > 0.5) return "overlap at " + at;
      const inner = [...document.querySelectorAll(".rows .row > span")];
      if (inner.some((cell) => cell.getBoundingClientRect().bottom > cell.parentElement.getBoundingClientRect().bottom + 0.5))
        return "a cell leaves its row";
      const seen = rows.filter(({ top, bottom }) => bottom > body.top + 0.5 && top < body.bottom - 0.5);
      if (seen.some(({ top, bottom }) => top < body.top - 0.5 || bottom > body.bottom + 0.5)) return "cut row";
      if (seen.length < 3) return "few rows";
      if (seen.some(({ left, right }) => left > card.left + 1.5 || right < card.right - 1.5)) return "short rule";
      return "";
    })()`);
});

test("a name of 60 KB fits its panel, with everything else in view", async () => {
  for (const [id, name] of ["x".repeat(60_000), "Word ".repeat(12_000)].entries())
    await post(session.running.url, JSON.stringify({ id: 90 + id, name, tag: "odd" }));
  const page = await open("/plants");
  for (const id of [90, 91]) {
    await page.goto(`${session.running.operatorUrl}/plants/${id}`);
    await page.locator(".facts").waitFor();
    await expectAtEveryWidth(
      page,
      `(() => {
          const panel = document.querySelector(".detail");
          const { left, right, bottom } = panel.getBoundingClientRect();
          const inside = [...panel.querySelectorAll("*")].every((one) => {
            const box = one.getBoundingClientRect();
            return one.closest(".clamped, h2") !== null || (box.left >= left && box.right <= right && box.bottom <= bottom);
          });
          const isInView = innerWidth < 768 || bottom <= innerHeight;
          return inside && isInView && panel.scrollHeight <= panel.clientHeight && panel.scrollWidth <= panel.clientWidth;
        })()`,
    );
  }
});

describe("from page to page", () => {
  const paths = ["/", "/plants", "/import", "/tokens", "/audit", "/system", "/nowhere"];
  const placeOf = `(() => {
    const title = document.querySelector("h1");
    const { left, top, height } = title.getBoundingClientRect();
    const { fontSize, fontWeight } = getComputedStyle(title);
    const boxes = [...document.querySelectorAll(".frame > main .card, .drop")].map((card) => card.getBoundingClientRect());
    return {
      title: [left, top, height, fontSize, fontWeight],
      edges: [Math.min(...boxes.map((box) => box.left)), Math.max(...boxes.map((box) => box.right))],
      headings: [...document.querySelectorAll(".card-head h2")].map((one) => getComputedStyle(one).font),
    };
  })()`;
  interface Place {
    readonly title: unknown;
    readonly edges: unknown;
    readonly headings: readonly string[];
  }

  test("titles, edges and headings are the same, at every width", async () => {
    const page = await open("/");
    for (const width of [360, 768, 1440, 2560]) {
      await page.setViewportSize({ width, height: 900 });
      const places: Place[] = [];
      for (const path of paths) {
        await page.goto(session.running.operatorUrl + path);
        await page.locator(".frame > main :is(.card, .drop)").first().waitFor();
        await eventually(async () => (await page.locator("[aria-busy=true]").count()) === 0);
        places.push(await page.evaluate<Place>(placeOf));
      }
      const [first] = places;
      for (const [index, { title, edges }] of places.entries())
        expect([width, paths[index], title, edges]).toEqual([
          width,
          paths[index],
          first?.title,
          first?.edges,
        ]);
      expect(new Set(places.flatMap(({ headings }) => headings)).size).toBe(1);
    }
  });

  test("what is empty, missing or not allowed is in the same kind of card", async () => {
    const reader = await makeToken(session.running, "reader", ["operator:read"]);
    const looks = new Set<string>();
    for (const [path, token] of [
      ["/plants?name=zzz", session.secret],
      ["/nowhere", session.secret],
      ["/import", reader],
      ["/tokens", reader],
    ] as const) {
      const page = await open(path, { token });
      await page.locator(".empty").waitFor();
      looks.add(
        await page.evaluate<string>(`(() => {
            const { backgroundColor, borderTopColor, borderTopWidth, borderRadius, padding, width } =
              getComputedStyle(document.querySelector(".empty"));
            const { font } = getComputedStyle(document.querySelector(".empty h2"));
            return [backgroundColor, borderTopColor, borderTopWidth, borderRadius, padding, width, font].join();
          })()`),
      );
    }
    expect([...looks]).toHaveLength(1);
  });
});

test("a service that has stopped, or hangs, is shown as connected on no page", async () => {
  await using running = await startTestService();
  using proxy = await startTcpProxy(Number(new URL(running.operatorUrl).port));
  const token = await makeToken(running, "ops", ["operator", "plants:create"]);
  await post(running.url, '{"id":1,"name":"Fern"}');
  const pages: Page[] = [];
  for (const path of ["/", "/plants", "/plants/1", "/import", "/tokens", "/audit", "/system"]) {
    const page = await open(path, { token, origin: `http://127.0.0.1:${proxy.port}`, alone: true });
    await page.locator("h1").waitFor();
    await page.getByText("Connected", { exact: true }).waitFor();
    pages.push(page);
  }
  for (const [stop, start] of [
    [proxy.refuse, proxy.accept],
    [proxy.cut, proxy.restore],
  ] as const) {
    stop();
    for (const page of pages) {
      await page.getByText("No response", { exact: true }).waitFor();
      await page.locator(".offline").waitFor();
      expect(await page.getByText(/^(connected|all plants are on disk)$/i).count()).toBe(0);
    }
    start();
    for (const page of pages) {
      await page.getByText("Connected", { exact: true }).waitFor();
      await eventually(async () => (await page.locator(".offline").count()) === 0);
    }
  }
  for (const page of pages) await page.close();
});

test("the account, and whether the service responds, are visible at every width", async () => {
  const page = await open("/tokens");
  await page.locator(".tokens").waitFor();
  const areVisible = `[...document.querySelectorAll(".who, .light")].filter((one) => {
      const { left, right, top, bottom, width } = one.getBoundingClientRect();
      return width > 4 && left >= 0 && right <= innerWidth && top >= 0 && bottom <= innerHeight &&
        getComputedStyle(one).clipPath === "none" && one.contains(document.elementFromPoint(left + 2, (top + bottom) / 2));
    }).length === 2`;
  await expectAtEveryWidth(page, areVisible);
  await page.route("**/*", (route) => route.abort());
  await page.locator(".light.lost").waitFor();
  await expectAtEveryWidth(page, areVisible);
  expect(await page.locator(".light").textContent()).toBe("No response");
});

test("large numbers, long names and commands fit at every width", async () => {
  const longName = "a-name-that-someone-made-as-long-as-a-name-may-be-and-longer-123";
  const token = await makeToken(session.running, longName, ["plants:create", "operator:read", "metrics"]);
  const longNamed = await open("/", { token });
  await longNamed.locator(".who").getByText(longName).waitFor();
  await expectAtEveryWidth(longNamed, "document.documentElement.scrollWidth <= innerWidth");
  const page = await open("/");
  await page.route("**/api/plants?limit=10", async (route) => {
    const { plants } = (await (await route.fetch()).json()) as { plants: object[] };
    const json = { plants: plants.map((plant) => ({ ...plant, createdAt: "2025-11-15T23:59:00Z" })) };
    await route.fulfill({ json });
  });
  await reloadWith(page, (overview) => {
    overview.total = "1234567890";
  });
  await page.getByText("1,234,567,890").first().waitFor();
  // The longest time: of a plant of another year.
  await page.locator(".latest time").first().waitFor();
  await expectAtEveryWidth(
    page,
    `[...document.querySelectorAll(".kpi, .latest time")].every((one) => one.scrollWidth <= one.clientWidth)`,
  );
  await page.getByRole("link", { name: "Tokens" }).click();
  await page.locator(".tokens").waitFor();
  await expectAtEveryWidth(
    page,
    `(() => {
        const card = document.querySelector(".card:has(.tokens)");
        const names = [...document.querySelectorAll(".tokens tbody th")];
        return card.scrollWidth <= card.clientWidth && names.every((name) => name.clientHeight < 120);
      })()`,
  );
  await chooseAction(page, "Revoke", longName);
  await expectAtEveryWidth(
    page,
    `(() => {
        const { left, right } = document.querySelector("dialog").getBoundingClientRect();
        const buttons = [...document.querySelectorAll("dialog button")].map((button) => button.getBoundingClientRect());
        return buttons.every((button) => button.left >= left && button.right <= right);
      })()`,
  );
  await page.keyboard.press("Escape");
  await page.getByRole("link", { name: "Plants", exact: true }).click();
  await page.getByRole("button", { name: "Export", exact: true }).click();
  await expectAtEveryWidth(
    page,
    `(({ left, right }) => left >= 0 && right <= innerWidth)(document.querySelector(".popover-panel").getBoundingClientRect())`,
  );
  const filtered = await open(`/plants?token=${longName}`);
  await filtered.locator(".chip").waitFor();
  await expectAtEveryWidth(filtered, `document.querySelector(".chip").scrollWidth <= innerWidth`);
  const signIn = await open("/", { token: "" });
  await signIn.locator(".how .code").waitFor();
  await expectAtEveryWidth(
    signIn,
    `(() => {
        const nodes = document.createTreeWalker(document.querySelector(".how .code"), NodeFilter.SHOW_TEXT);
        for (let node = nodes.nextNode(); node; node = nodes.nextNode())
          for (const { 0: word, index } of node.data.matchAll(/[^\\s]+/g)) {
            const range = new Range();
            range.setStart(node, index);
            range.setEnd(node, index + word.length);
            if (range.getClientRects().length > 1) return false;
          }
        return document.documentElement.scrollWidth <= innerWidth;
      })()`,
  );
});

async function expectAtEveryWidth(page: Page, condition: string): Promise<void> {
  const wrong: number[] = [];
  for (const width of widthsPx) {
    await page.setViewportSize({ width, height: 800 });
    if (!(await page.evaluate<boolean>(condition))) wrong.push(width);
  }
  expect({ condition, wrong }).toEqual({ condition, wrong: [] });
}

test("every page requests its content without waiting for a frame to be painted", async () => {
  const page = await open("/nowhere", { alone: true });
  // No frame and no timer: what is requested is requested while the page renders.
  await page.clock.install();
  await page.clock.pauseAt(Date.now() + 60_000);
  for (const [path, content] of [
    ["/", "/api/overview"],
    ["/plants", "/api/plants"],
    ["/tokens", "/api/tokens"],
    ["/audit", "/api/audit"],
    ["/system", "/api/settings"],
  ] as const) {
    const isContent = (url: string) => new URL(url).pathname === content;
    const requested = page.waitForRequest((request) => isContent(request.url()));
    await page.goto(session.running.operatorUrl + path);
    await requested;
  }
  await page.close();
});
