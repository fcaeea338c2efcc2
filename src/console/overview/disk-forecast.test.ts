import { expect, test } from "bun:test";
import { fake } from "../../../test/support/fake.ts";
import type { OverviewJson, StoreJson } from "../../operator/responses.ts";
import { describeDiskForecast } from "./disk-forecast.ts";

const bytesPerPlant = 100;
/** Of a store of 1,000 plants, so many of which came in each of its last hours. */
const forecastOf = (creates: readonly number[], diskFreeBytes: number | undefined) =>
  describeDiskForecast(
    fake<OverviewJson>({
      total: "1000",
      perHour: { from: "2026-11-15T00:00:00.000Z", creates, refusals: [] },
      store: fake<StoreJson>({ bytes: 1000 * bytesPerPlant, diskFreeBytes }),
    }),
  );

test("the free disk space lasts by the rate since the first plant of the week", () => {
  const plantsPerHour = 10;
  const textFor = (hours: number) => forecastOf([0, 0, 10, 12, 8], hours * plantsPerHour * bytesPerPlant);
  expect([410 * 24, 48, 47.5, 1.2, 0.5, 24 * 4000].map(textFor)).toEqual([
    "about 410 days left at this rate",
    "about 2 days left at this rate",
    "about 47 hours left at this rate",
    "about 1 hour left at this rate",
    "less than an hour left at this rate",
    "over 10 years left at this rate",
  ]);
});

test("the free disk space has no forecast without new plants, and without a file to measure", () => {
  expect(forecastOf([0, 0], 1000)).toBeUndefined();
  expect(forecastOf([1, 1], undefined)).toBeUndefined();
});
