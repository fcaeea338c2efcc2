/** 4200000 → `4,200,000`. A string of digits never becomes a double. */
export function formatCount(count: number | string): string {
  const digits = String(typeof count === "number" ? Math.round(count) : count);
  return digits.replaceAll(/\B(?=(\d{3})+$)/g, ",");
}

/** `1 plant`, `2 plants`; or a phrase with its verb, such as `1 row was refused`, if its plural is given too. */
export function formatPlural(count: number, singular: string, plural = `${singular}s`): string {
  return `${formatCount(count)} ${count === 1 ? singular : plural}`;
}

/**
 * How much of the total is done, from 0 to 1; undefined if the total is 0, which means that nobody knows it. More than the total
 * may be done, because a store that is in use grows meanwhile.
 */
export function shareOf(done: number, total: number): number | undefined {
  return total > 0 ? Math.min(1, done / total) : undefined;
}
