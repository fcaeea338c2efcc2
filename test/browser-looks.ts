import { expect } from "bun:test";
import type { Flow } from "./browser-flows.ts";
import { type DrivenPage, keys } from "./driven-page.ts";
import { post } from "./harness.ts";

const widthsPx = [360, 1440];
const heightPx = 800;
// Between the page in the dark and in the light.
const middleGrey = 128;
const smallestId = "-9223372036854775808";

interface Scene {
  readonly path: string;
  /** What must be there. */
  readonly ready: string;
  /** The button that opens it. */
  readonly button?: string;
}

const scenes: Readonly<Record<string, Scene>> = {
  overview: { path: "/", ready: ".latest a" },
  plants: { path: "/plants", ready: ".rows .row:not(.blank)" },
  plant: { path: `/plants/${smallestId}`, ready: ".facts" },
  "add-plant": { path: "/plants", ready: "dialog form", button: "Add a plant" },
  import: { path: "/import", ready: ".drop" },
  tokens: { path: "/tokens", ready: ".tokens" },
  "create-token": { path: "/tokens", ready: "dialog form", button: "Create a token" },
  audit: { path: "/audit", ready: ".audit" },
  system: { path: "/system", ready: ".system-table code" },
};

/** Every page and two dialogs, light and dark, on a phone and a wide screen. */
export const looks: readonly Flow[] = ["light", "dark"].map((theme) => ({
  name: `finds every page ${theme}, and as wide as the screen at ${widthsPx.join(" and ")} px`,
  async run({ page, running }) {
    await post(running.url, `{"id": ${smallestId}, "name": "First fern", "tag": "limit"}`);
    await page.open("/");
    await page.see("h1", "Overview");
    while ((await page.evaluate("document.documentElement.dataset.theme")) !== theme)
      await page.click("button[title^=Theme]");
    const faults: string[] = [];
    for (const widthPx of widthsPx) {
      await page.driver.resize(widthPx, heightPx);
      for (const [name, { path, ready, button }] of Object.entries(scenes)) {
        await page.go(path);
        if (button !== undefined) await page.click("button", button);
        await page.see(ready);
        await page.draw();
        faults.push(...(await faultsOf(page, theme)).map((fault) => `${name} at ${widthPx} px: ${fault}`));
        await page.shoot(`${name}-${theme}-${widthPx}`);
        if (button !== undefined) await page.type(keys.escape);
        faults.push(...(await page.takeErrors()).map((error) => `${name} at ${widthPx} px: ${error}`));
      }
    }
    expect(faults).toEqual([]);
  },
}));

async function faultsOf(page: DrivenPage, theme: string): Promise<string[]> {
  const { excessPx, grey, leaving, plainScrollbars, stretchedBoxes } = await page.evaluate<Look>(look);
  return [
    ...(excessPx > 0 ? [`${excessPx} px too wide`] : []),
    ...(grey > middleGrey === (theme === "light") ? [] : [`not ${theme}`]),
    ...leaving.map((text) => `"${text}" leaves its box`),
    ...(plainScrollbars > 0 ? ["a scrollbar without the colours of the theme"] : []),
    ...(stretchedBoxes > 0 ? ["a checkbox that is not beside its first line"] : []),
  ];
}

interface Look {
  readonly excessPx: number;
  /** How light the page is, from 0 to 255. */
  readonly grey: number;
  /** Texts that reach out of their button, link or cell of the header. */
  readonly leaving: readonly string[];
  readonly plainScrollbars: number;
  readonly stretchedBoxes: number;
}

const look = `(() => {
  const all = (selector) => [...document.querySelectorAll(selector)];
  const context = document.createElement("canvas").getContext("2d");
  context.fillStyle = getComputedStyle(document.body).backgroundColor;
  context.fillRect(0, 0, 1, 1);
  const leaving = all("button, nav a, .bar p").flatMap((box) => {
    const { left, right } = box.getBoundingClientRect();
    const texts = document.createTreeWalker(box, NodeFilter.SHOW_TEXT);
    const found = [];
    while (texts.nextNode()) {
      const { clipPath, overflowX } = getComputedStyle(texts.currentNode.parentElement);
      if (clipPath !== "none" || overflowX !== "visible") continue;
      const range = document.createRange();
      range.selectNodeContents(texts.currentNode);
      const text = range.getBoundingClientRect();
      if (text.width > 0 && text.right > 0 && (text.left < left - 0.5 || text.right > right + 0.5)) found.push(range.toString());
    }
    return found;
  });
  const scrolling = all("dialog[open], main, main *").filter(
    (box) => box.scrollHeight > box.clientHeight && box.offsetWidth > box.clientWidth + 4 && /auto|scroll/.test(getComputedStyle(box).overflowY),
  );
  return {
    excessPx: Math.max(...[document.documentElement, ...all("dialog[open]")].map((box) => box.scrollWidth - box.clientWidth)),
    grey: context.getImageData(0, 0, 1, 1).data[1],
    leaving,
    plainScrollbars: scrolling.filter((box) => getComputedStyle(box).scrollbarColor === "auto").length,
    stretchedBoxes: all("input[type=checkbox]").filter((box) => box.offsetHeight > box.offsetWidth).length,
  };
})()`;
