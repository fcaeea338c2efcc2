import type { Gate } from "../access/gate.ts";
import type { Intake } from "../plants/intake.ts";
import { json, unready } from "./reply.ts";
import { type Route, route } from "./route.ts";

export type ReadinessState = "ready" | "closing" | "store-unavailable";

/** Whether plants can be stored now, from every client whose token is stored. `/readyz`, the metrics and the console ask it. */
export class Readiness {
  readonly #gate: Gate;
  readonly #intake: Intake;
  #isStopping = false;

  constructor(gate: Gate, intake: Intake) {
    this.#gate = gate;
    this.#intake = intake;
  }

  /** The check says `closing` from now on; everything else is served as before. */
  goUnready(): void {
    this.#isStopping = true;
  }

  async check(): Promise<ReadinessState> {
    if (this.#isStopping) return "closing";
    const canStore = await this.#intake.canStore();
    return canStore && this.#gate.knowsStoredTokens ? "ready" : "store-unavailable";
  }
}

export function healthRoutes(readiness: Readiness): readonly Route[] {
  return [
    // It says that the process runs and responds, and nothing about the store.
    route("GET", "/livez", "none", () => json({ status: "live" })),
    route("GET", "/readyz", "none", async () => {
      const status = await readiness.check();
      return status === "ready" ? json({ status }) : unready(status);
    }),
  ];
}
