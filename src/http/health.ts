import type { Intake } from "../plants/intake.ts";
import type { RouteHandler } from "./respond.ts";

const retrySoon = { "Retry-After": "1" };

/** The process runs and answers; says nothing of the store. */
export const live: RouteHandler = (_, respond) => respond.page("application/json", '{"status":"live"}');

/** Plants can be stored now. */
export function ready(intake: Intake, stopping: () => boolean): RouteHandler {
  return async (_, respond) => {
    if (stopping()) return respond.error("closing", undefined, retrySoon);
    if (!(await intake.ready())) return respond.error("store-unavailable", undefined, retrySoon);
    return respond.page("application/json", '{"status":"ready"}');
  };
}
