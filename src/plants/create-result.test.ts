import { expect, test } from "bun:test";
import { type CreateResult, createResult } from "./create-result.ts";
import type { Rejected } from "./intake.ts";
import type { Outcome } from "./plant-store.ts";
import { PlantRefusal } from "./refusals.ts";

const conflict = new PlantRefusal(
  "id-conflict",
  "The id 7 already belongs to a plant with a different name.",
  "The id already belongs to a plant with a different name.",
);

test.each<[string, Outcome | Rejected, CreateResult]>([
  ["a plant that is stored", { kind: "created" }, { kind: "created" }],
  ["a plant that was stored before", { kind: "replayed" }, { kind: "replayed" }],
  [
    "a different plant with its id",
    { kind: "conflict", differing: ["name"] },
    { kind: "refused", refusal: conflict },
  ],
  [
    "a plant that the engine rejects",
    { kind: "failed", reason: "x" },
    { kind: "internal-error", reason: "x" },
  ],
  ["a full queue", { kind: "too-busy" }, { kind: "too-busy" }],
  ["an unavailable store", { kind: "store-unavailable" }, { kind: "store-unavailable" }],
  ["a service that stops", { kind: "closing" }, { kind: "closing" }],
])("the client learns of %s", (_, outcome, result) => {
  expect(createResult({ id: 7n, name: "fern", tag: undefined }, outcome)).toEqual(result);
});
