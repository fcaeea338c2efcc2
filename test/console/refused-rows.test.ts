// What the console makes of the errors of the service, which its own modules do not import.
import { describe, expect, test } from "bun:test";
import { errorNumbers } from "../../src/console/error-numbers.ts";
import { catalogue } from "../../src/http/error-catalogue.ts";
import type { LineOutcome } from "../../src/operator/responses.ts";
import { readPlant } from "../../src/plants/read-plant.ts";
import { idConflictRefusal, PlantRefusal } from "../../src/plants/refusals.ts";
import { importWith } from "../support/import-with.ts";

describe("refused rows", () => {
  const refuseAll = (lines: string[]) => lines.map((line) => refusalOf(Buffer.from(line)));

  /** What the service responds to a line that is no plant. */
  function refusalOf(line: Uint8Array): LineOutcome {
    const refusal = readPlant(line);
    if (!(refusal instanceof PlantRefusal)) throw new Error(`${line} is a plant`);
    const { kind, message, reason, position } = refusal;
    return { error: catalogue[kind].error, message, reason, position };
  }

  test("whose values alone differ are one group", async () => {
    const long = "x".repeat(60);
    const rowsOf = {
      'Field "id" is missing; expected an integer.': ['{"name":"a"}', '{"name":"b"}'],
      'Field "id" must be an integer, but is a string. Field "name" must be a string, but is a number.': [
        '{"id":"a","name":1}',
        '{"id":"1. Field \\"x\\". \\\\","name":2.5e-9}',
        `{"id":"${long}","name":${"7".repeat(60)}}`,
        `{"id":"${"\u{1f33f}".repeat(60)}","name":3}`,
      ],
      'Field "id" must be an integer from -9223372036854775808 to 9223372036854775807. Field "name" is missing; expected a string.':
        ['{"id":9223372036854775808}', `{"id":${"9".repeat(60)}}`],
      "The row is not valid JSON: expected a name or }.": ["{n", "{  é"],
    };
    const { run } = await importWith("rows.ndjson", Object.values(rowsOf).flat().join("\n"), refuseAll);
    expect(run.report.groups.map(({ reason, count }) => [reason, count])).toEqual(
      Object.entries(rowsOf).map(([reason, rows]) => [reason, rows.length]),
    );
  });

  test("whose ids belong to other plants are one group for each difference", async () => {
    const conflicts = [
      idConflictRefusal(1n, ["name"]),
      idConflictRefusal(-2n, ["name", "tag"]),
      idConflictRefusal(3n, ["name"]),
    ];
    const { run } = await importWith("rows.csv", "id,name\n1,a\n-2,b\n3,c\n", (lines) =>
      conflicts.slice(0, lines.length).map(({ message, reason }) => ({ error: 40020, message, reason })),
    );
    expect(run.report.groups).toMatchObject([
      { reason: "The id already belongs to a plant with a different name.", count: 2 },
      { reason: "The id already belongs to a plant with a different name and a different tag.", count: 1 },
    ]);
  });
});

test("the console has the error numbers of the catalogue", () => {
  const kinds = Object.keys(errorNumbers) as (keyof typeof errorNumbers)[];
  const catalogued = kinds.map((kind) => [kind, catalogue[kind].error]);
  expect(Object.fromEntries(catalogued)).toEqual(errorNumbers);
});
