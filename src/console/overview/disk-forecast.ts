import type { OverviewJson } from "../../operator/responses.ts";
import { formatCount } from "../../text/counts.ts";
import { sum } from "./chart-data.ts";

const hoursPerDay = 24;
const daysInHoursMax = 2;
const daysMax = 3650;

/** How long the free space lasts if plants keep coming as they did in the last week, or since the first one in it. */
export function describeDiskForecast({ total, perHour, store }: OverviewJson): string | undefined {
  const { bytes, diskFreeBytes } = store;
  const creates = perHour?.creates ?? [];
  const firstHour = creates.findIndex((count) => count > 0);
  if (total === undefined || bytes === undefined || diskFreeBytes === undefined || firstHour < 0)
    return undefined;
  const plantsPerHour = sum(creates) / (creates.length - firstHour);
  const bytesPerPlant = bytes / Number(total);
  const days = diskFreeBytes / (plantsPerHour * bytesPerPlant) / hoursPerDay;
  return `${formatDays(days)} left at this rate`;
}

function formatDays(days: number): string {
  if (days > daysMax) return "over 10 years";
  if (days >= daysInHoursMax) return `about ${formatCount(days)} days`;
  const hours = Math.floor(days * hoursPerDay);
  if (hours < 1) return "less than an hour";
  return hours === 1 ? "about 1 hour" : `about ${hours} hours`;
}
