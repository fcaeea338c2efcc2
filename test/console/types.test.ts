// The console and the service agree about error numbers. Their types are one: npm run check sees to that.
import { expect, test } from "bun:test";
import { errorNumbers } from "../../src/console/error-numbers.ts";
import { catalogue } from "../../src/http/error-catalogue.ts";

test("the console has the numbers of the catalogue", () => {
  const kinds = Object.keys(errorNumbers) as (keyof typeof errorNumbers)[];
  const catalogued = kinds.map((kind) => [kind, catalogue[kind].error]);
  expect(Object.fromEntries(catalogued)).toEqual(errorNumbers);
});
