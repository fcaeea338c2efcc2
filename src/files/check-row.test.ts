import { expect, test } from "bun:test";
import { readPlant } from "../plants/read-plant.ts";
import { Refusal } from "../plants/refusals.ts";
import { answerAboutRow, checkRow } from "./check-row.ts";
import { validRow } from "./input-row.ts";

const encoder = new TextEncoder();

/** A row of a file that starts on this line. */
function rowOf(json: string, line: number) {
  return validRow(line, encoder.encode(json));
}

/** What the service says about the row as a body. */
function answerTo(json: string): string {
  const refusal = readPlant(encoder.encode(json));
  if (!(refusal instanceof Refusal)) throw new Error(`${json} is a plant`);
  return refusal.message;
}

const notJson = "The row is not valid JSON: at";

test.each([
  ["of one line", '{"id":}', undefined, `${notJson} column 7 of the row, expected a value but found }.`],
  [
    "that ends too early",
    '{"id":1',
    undefined,
    `${notJson} column 8 of the row, expected a comma or } but the row ends.`,
  ],
  [
    "with a stray carriage return",
    '{"id":\r}',
    undefined,
    `${notJson} line 8, expected a value but found }.`,
  ],
  [
    "that is an element of an array",
    '{"id":1,\n"name":"\\ud800"}',
    3,
    "The string at line 9, column 8 contains an unpaired surrogate, which is not valid Unicode.",
  ],
  ["without a place in it", '{"name":"a"}', undefined, 'Field "id" is missing; expected an integer.'],
])("a row %s is refused in the same words, checked or sent", (_, json, element, expected) => {
  const row = { ...rowOf(json, 8), element };
  expect(checkRow(row)).toMatchObject({ message: expected });
  expect(answerAboutRow(answerTo(json), row)).toBe(expected);
});

test("the position of a service whose parser says something else is not taken for that of the row", () => {
  const message = "The body is not valid JSON: at line 1, column 7, a value is missing.";
  expect(answerAboutRow(message, rowOf('{"id":}', 8))).toBe(
    "The row is not valid JSON: at line 1, column 7, a value is missing.",
  );
});
