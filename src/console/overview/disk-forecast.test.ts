import { describe, expect, test } from "bun:test";
import { fake } from "../../../test/support/fake.ts";
import type { OverviewJson, StoreJson } from "../../operator/responses.ts";
import { diskForecast } from "./disk-forecast.ts";

describe("the free disk space", () => {
  const bytesPerPlant = 100;
  /** A store of 1,000 plants, so many of which came in each of its last hours. */
  function storeWith(creates: readonly number[], diskFreeBytes: number | undefined): OverviewJson {
    return fake<OverviewJson>({
      total: "1000",
      perHour: { from: "2026-11-15T00:00:00.000Z", creates, refusals: [] },
      store: fake<StoreJson>({ bytes: 1000 * bytesPerPlant, diskFreeBytes }),
    });
  }

  test.each([
    ["about 410 days", 410 * 24],
    ["about 2 days", 48],
    ["about 47 hours", 47.5],
    ["about 1 hour", 1.2],
    ["less than an hour", 0.5],
    ["over 10 years", 24 * 4000],
  ])("lasts for %s", (text, hours) => {
    const plantsPerHour = 10;
    const overview = storeWith([10, 12, 8], hours * plantsPerHour * bytesPerPlant);
    expect(diskForecast(overview)?.text).toBe(`${text} left at this rate`);
  });

  test("lasts by the rate since the first plant of the week", () => {
    expect(diskForecast(storeWith([0, 0, 10, 0], 240 * 5 * bytesPerPlant))?.text).toBe(
      "about 10 days left at this rate",
    );
  });

  test("was more by what has come since", () => {
    expect(diskForecast(storeWith([5, 10, 2], 1000))?.freeBytes).toEqual([2200, 1200, 1000]);
  });

  test.each([
    ["no plant came", [0, 0], 1000],
    ["there is no file to measure", [1, 1], undefined],
  ])("has no forecast if %s", (_, creates, diskFreeBytes) => {
    expect(diskForecast(storeWith(creates, diskFreeBytes))).toBeUndefined();
  });
});
