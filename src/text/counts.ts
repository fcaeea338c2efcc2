/** 4200000 → `4,200,000`. A string of digits never becomes a double. */
export function formatCount(count: number | string): string {
  const digits = String(typeof count === "number" ? Math.round(count) : count);
  return digits.replaceAll(/\B(?=(\d{3})+$)/g, ",");
}

/** `1 plant`, `2 plants`; or a phrase with its verb, such as `1 row was refused`, if its plural is given too. */
export function formatPlural(count: number, singular: string, plural = `${singular}s`): string {
  return `${formatCount(count)} ${count === 1 ? singular : plural}`;
}
