import type { PlantPage } from "../../../plants/plant-archive.ts";

/** From a cursor on, up to and with the plant at that place. */
export interface Window {
  readonly cursor: number;
  readonly stop: number;
}

export interface WindowSearch {
  /** Where to begin and to end: the last is below the first when the newest come first. */
  readonly cursor: number;
  readonly stop: number;
  readonly limit: number;
  readonly searchMsMax: number;
  readonly windowsAtOnce: number;
  readonly look: (window: Window, limit: number) => Promise<PlantPage>;
}

// Wide enough to be worth a message to a thread. What is often found is found in the first, without setting others to
// work for nothing.
const windowSeqs = 100_000;

/** Searches several windows of the store at once, as there are threads, and gives what they find in its order. */
export async function searchWindows(search: WindowSearch): Promise<PlantPage> {
  const { limit, stop, look, windowsAtOnce } = search;
  const deadlineMs = performance.now() + search.searchMsMax;
  const direction = stop < search.cursor ? -1 : 1;
  const looking: { window: Window; page: Promise<PlantPage> }[] = [];
  const plants: PlantPage["plants"][number][] = [];
  let searched = 0;
  let asked = search.cursor;
  let cursor = search.cursor;
  for (;;) {
    const late = performance.now() > deadlineMs;
    while (!late && asked !== stop && looking.length < (searched === 0 ? 1 : windowsAtOnce)) {
      const window = {
        cursor: asked,
        stop: asked + direction * Math.min(windowSeqs, Math.abs(stop - asked)),
      };
      const page = look(window, limit);
      page.catch(() => {}); // Told to whoever waits for it below; nobody may, when enough is found before.
      looking.push({ window, page });
      asked = window.stop;
    }
    const next = looking.shift();
    if (next === undefined) return { plants, next: cursor === stop ? undefined : String(cursor), searched };
    let page = await next.page;
    // Too many to fit: the window is looked through again for just so many, which gives the place where they end.
    if (page.plants.length > limit - plants.length) page = await look(next.window, limit - plants.length);
    plants.push(...page.plants);
    searched += page.searched;
    // Full, or not looked through to its end in the time there was.
    if (plants.length === limit || page.next !== undefined) {
      const end = page.next ?? String(next.window.stop);
      return { plants, next: Number(end) === stop ? undefined : end, searched };
    }
    cursor = next.window.stop;
  }
}
