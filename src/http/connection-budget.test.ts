import { expect, test } from "bun:test";
import { connectionBudget } from "./connection-budget.ts";

test.each([
  [1024, { publicMax: 721, operatorMax: 103 }],
  [64, { publicMax: 28, operatorMax: 4 }],
  [1, { publicMax: 1, operatorMax: 1 }],
  [Number.POSITIVE_INFINITY, { publicMax: 9_500, operatorMax: 500 }],
])("of %d file descriptors some are reserved, and operators have a share of the rest", (limit, budget) => {
  expect(connectionBudget(limit)).toEqual(budget);
});
