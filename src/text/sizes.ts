const units = ["kB", "MB", "GB", "TB"];
// From here on, three digits would be rounded to 1000.
const roundedUpFrom = 999.5;

/** `812 bytes`, `14 kB`, `3.1 MB`, `27 GB`. What would be rounded to 1000 is 1.0 of the next unit. */
export function formatBytes(bytes: number): string {
  if (bytes < 1000) return bytes === 1 ? "1 byte" : `${bytes} bytes`;
  let amount = bytes / 1000;
  let unit = 0;
  while (amount >= roundedUpFrom && unit < units.length - 1) {
    amount /= 1000;
    unit++;
  }
  // A kilobyte more or less says nothing; of the larger units there is one decimal below 10.
  const decimals = unit > 0 && amount < 9.95 ? 1 : 0;
  return `${amount.toFixed(decimals)} ${units[unit]}`;
}
