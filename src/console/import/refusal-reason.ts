// What a message says about one row alone, and what stands in its place. A value that a message quotes is JSON, which
// is cut after 40 characters.
const number = String.raw`[-\d][-+.\deE]*?…?(?=\.(?: |$))`;
const quoted = String.raw`(?:".{39}…|"(?:[^"\\]|\\.)*"|true|false|${number})`;
const ownToRow: readonly (readonly [RegExp, string])[] = [
  [/^The id \S+/, "The id"],
  [/^The names? .+? (?:each )?appears? more than once/s, "A name appears more than once"],
  [/^The row has \d+ fields?, but the header has \d+/, "The row does not have as many fields as the header"],
  [/ at (?:column \d+ of the row|line \d+(?:, column \d+)?),?/, ""],
  [/ but found .+\.$/s, "."],
  [new RegExp(`\\bis the (string|number|boolean) ${quoted}`, "gsu"), "is a $1"],
  [new RegExp(`, but is ${number}`, "gsu"), ""],
];

/** A message about a row without what differs from row to row, so that rows can be grouped by it. */
export function reasonOf(message: string): string {
  return ownToRow.reduce((reason, [pattern, words]) => reason.replace(pattern, words), message);
}
