import type { Intake } from "../plants/intake.ts";
import type { Listener } from "./listener.ts";
import type { Route } from "./route.ts";

/** A listener that clients use. */
export interface ServingListener extends Listener {
  /** Where they reach it, without a trailing slash. */
  readonly url: string;
  /** Answers `readyz` with 503 from now on, and everything else as before. */
  goUnready(): void;
}

/** Whether plants can be stored now. */
export class Readiness {
  readonly #intake: Pick<Intake, "ready">;
  #stopping = false;

  constructor(intake: Pick<Intake, "ready">) {
    this.#intake = intake;
  }

  goUnready(): void {
    this.#stopping = true;
  }

  async check(): Promise<"ready" | "closing" | "store-unavailable"> {
    if (this.#stopping) return "closing";
    return (await this.#intake.ready()) ? "ready" : "store-unavailable";
  }
}

interface HealthParts {
  readonly readiness: Readiness;
}

/** The process runs and responds; says nothing about the store. */
export const livez: Route<unknown> = {
  method: "GET",
  path: "/livez",
  scope: "none",
  handler: () => (exchange) => exchange.json({ status: "live" }),
};

export const readyz: Route<HealthParts> = {
  method: "GET",
  path: "/readyz",
  scope: "none",
  handler: (parts) => async (exchange) => {
    const status = await parts.readiness.check();
    if (status === "ready") exchange.json({ status });
    else exchange.error(status);
  },
};
