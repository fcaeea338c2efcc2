import type { InputRow } from "./input-row.ts";

/**
 * A refusal's message as one about a row of a file. The service parses one row as a body, so its line 1 is the line of the row.
 * Only an element of an array has several lines; elsewhere the service counts a stray carriage return as a line break, and its
 * column is not that of the row.
 */
export function withRowPosition(
  message: string,
  { line, element }: Pick<InputRow, "line" | "element">,
): string {
  return message
    .replace(/^The body\b/, "The row")
    .replace(/ at line (\d+), column (\d+)/, (_, bodyLine, column) => {
      if (bodyLine === "1") return ` at column ${column} of the row`;
      return element === undefined
        ? ` at line ${line}`
        : ` at line ${line + Number(bodyLine) - 1}, column ${column}`;
    });
}
