// What a spreadsheet reads as the start of a formula, in full width too; quotes, spaces and apostrophes may precede it.
const formula = `(?=['"\\s]*[=+\\-@\uff1d\uff0b\uff0d\uff20]|'*[\\t\\r\\n])`;
// A cell may also begin inside a text: if the list separator is not a comma, quotes do not hold the cell together.
const cellStart = "(?<=^|[;|\\t\\r\\n])";
const unescaped = new RegExp(`${cellStart}${formula}`, "g");
const escaped = new RegExp(`${cellStart}'${formula}`, "g");

/** The text with an apostrophe before everything that a spreadsheet could read as a formula. */
export function escapeFormulas(text: string): string {
  return text.replace(unescaped, "'");
}

/** A cell of CSV that no spreadsheet reads as a formula. */
export function safeCell(text: string): string {
  return quotedCell(escapeFormulas(text));
}

export function quotedCell(text: string): string {
  return `"${text.replaceAll('"', '""')}"`;
}

/** Reverses `escapeFormulas`. */
export function unescapeFormulas(text: string): string {
  return text.replace(escaped, "");
}
