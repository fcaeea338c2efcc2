import type { Rejected } from "./intake.ts";
import type { NewPlant } from "./plant.ts";
import type { Outcome } from "./plant-store.ts";
import { idConflictRefusal, type PlantRefusal } from "./refusals.ts";

/** What a client learns about its plant: that it is stored, now or before, or the error that it gets. */
export type CreateResult =
  | { readonly kind: "created" | "replayed" }
  | { readonly kind: "refused"; readonly refusal: PlantRefusal }
  /** The reason is for the log alone. */
  | { readonly kind: "internal-error"; readonly reason: string }
  | Rejected;

/** What a client gets for the outcome of its plant; POST /plants and imports share it. */
export function createResult(plant: NewPlant, outcome: Outcome | Rejected): CreateResult {
  switch (outcome.kind) {
    case "conflict":
      return { kind: "refused", refusal: idConflictRefusal(plant.id, outcome.differing) };
    case "failed":
      return { kind: "internal-error", reason: outcome.reason };
    default:
      return outcome;
  }
}
