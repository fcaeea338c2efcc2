import { expect, test } from "bun:test";
import { readPlant } from "../plants/read-plant.ts";
import { PlantRefusal } from "../plants/refusals.ts";
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
  if (!(refusal instanceof PlantRefusal)) throw new Error(`${json} is a plant`);
  return refusal.message;
}

test("a row is refused in the same words, checked or sent", () => {
  const wordsAbout = (json: string, element?: number) => {
    const row = { ...rowOf(json, 8), element };
    const answer = answerAboutRow(answerTo(json), row);
    expect(checkRow(row)).toMatchObject({ message: answer });
    return answer;
  };
  const notJson = "The row is not valid JSON: at";
  expect(wordsAbout('{"id":}')).toBe(`${notJson} column 7 of the row, expected a value but found }.`);
  expect(wordsAbout('{"id":1')).toBe(
    `${notJson} column 8 of the row, expected a comma or } but the row ends.`,
  );
  // A stray carriage return is a line break.
  expect(wordsAbout('{"id":\r}')).toBe(`${notJson} line 8, expected a value but found }.`);
  expect(wordsAbout('{"id":1,\n"name":"\\ud800"}', 3)).toBe(
    "The string at line 9, column 8 contains an unpaired surrogate, which is not valid Unicode.",
  );
  expect(wordsAbout('{"name":"a"}')).toBe('Field "id" is missing; expected an integer.');
});

test("a position that the parser here does not find stays as the service says it", () => {
  const message = "The body is not valid JSON: at line 1, column 3, a value is missing.";
  expect(answerAboutRow(message, rowOf('{"id":}', 8))).toBe(
    "The row is not valid JSON: at line 1, column 3, a value is missing.",
  );
});
