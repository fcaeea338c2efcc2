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
        if (button !== undefined) await page.type(keys.escape);
        faults.push(...(await page.takeErrors()).map((error) => `${name} at ${widthPx} px: ${error}`));
      }
    }
    expect(faults).toEqual([]);
  },
}));

async function faultsOf(page: DrivenPage, theme: string): Promise<string[]> {
  const { excessPx, grey } = await page.evaluate<{ excessPx: number; grey: number }>(look);
  return [
    ...(excessPx > 0 ? [`${excessPx} px too wide`] : []),
    ...(grey > middleGrey === (theme === "light") ? [] : [`not ${theme}`]),
  ];
}

/** How much wider than the screen the page is, and how light, from 0 to 255. */
const look = `(() => {
  const context = document.createElement("canvas").getContext("2d");
  context.fillStyle = getComputedStyle(document.body).backgroundColor;
  context.fillRect(0, 0, 1, 1);
  const boxes = [document.documentElement, ...document.querySelectorAll("dialog[open]")];
  return {
    excessPx: Math.max(...boxes.map((box) => box.scrollWidth - box.clientWidth)),
    grey: context.getImageData(0, 0, 1, 1).data[1],
  };
})()`;
