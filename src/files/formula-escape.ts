// What a spreadsheet takes for the start of a formula, also in full width; quotes, blanks and apostrophes may precede it.
const formula = `(?=['"\\s]*[=+\\-@\uff1d\uff0b\uff0d\uff20]|'*[\\t\\r\\n])`;
// A cell may also begin inside a text: where the list separator is not the comma, quotes do not hold the cell together.
const cellStart = "(?<=^|[;|\\t\\r\\n])";
const unescaped = new RegExp(`${cellStart}${formula}`, "g");
const escaped = new RegExp(`${cellStart}'${formula}`, "g");

/** The text with an apostrophe before everything that a spreadsheet could take for a formula. */
export function escapeFormulas(text: string): string {
  return text.replace(unescaped, "'");
}

/** The text that `escapeFormulas` had. */
export function unescapeFormulas(text: string): string {
  return text.replace(escaped, "");
}
