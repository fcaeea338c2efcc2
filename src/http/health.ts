import type { Intake } from "../plants/intake.ts";
import type { Handler } from "./exchange.ts";

const retrySoon = { "Retry-After": "1" };

/** The process runs and answers; says nothing of the store. */
export const live: Handler = (exchange) => exchange.page("application/json", '{"status":"live"}');

/** Plants can be stored now. */
export function ready(intake: Intake, stopping: () => boolean): Handler {
  return async (exchange) => {
    if (stopping()) exchange.error("closing", undefined, retrySoon);
    else if (!(await intake.ready())) exchange.error("store-unavailable", undefined, retrySoon);
    else exchange.page("application/json", '{"status":"ready"}');
  };
}
