import type { PlantIntake } from "../plants/intake.ts";
import { type Handler, retrySoon } from "./exchange.ts";

/** The process runs and answers; says nothing of the store. */
export const live: Handler = (exchange) => exchange.page("application/json", '{"status":"live"}');

/** Plants can be stored now. */
export function ready(intake: PlantIntake, stopping: () => boolean): Handler {
  return async (exchange) => {
    if (stopping()) exchange.error("closing", undefined, retrySoon);
    else if (!(await intake.ready())) exchange.error("store-unavailable", undefined, retrySoon);
    else exchange.page("application/json", '{"status":"ready"}');
  };
}
