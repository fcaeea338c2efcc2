import type { PresetToken } from "../access/gate.ts";
import type { Rate, RateMemory } from "../access/rate-limit.ts";
import type { Token } from "../access/tokens.ts";
import type { PublicListenerOptions } from "../public/public-listener.ts";
import type { CounterMemory } from "../telemetry/counters.ts";
import type { Fields, Level } from "../telemetry/log.ts";

/** What a worker needs to serve; everything else it asks of the main thread. */
export interface WorkerSetting {
  readonly listener: PublicListenerOptions;
  readonly rateLimit: Rate | undefined;
  readonly rateMemory: RateMemory;
  readonly counterNames: readonly string[];
  readonly counterMemory: CounterMemory;
  readonly presetTokens: readonly PresetToken[];
  /** Undefined while the store has not been read. */
  readonly tokens: readonly Token[] | undefined;
}

export type ToWorker =
  | { readonly kind: "start"; readonly setting: WorkerSetting }
  | { readonly kind: "tokens"; readonly tokens: readonly Token[] }
  | { readonly kind: "outcomes"; readonly batch: number; readonly outcomes: string }
  | { readonly kind: "readiness"; readonly question: number; readonly ready: boolean }
  | { readonly kind: "unready" }
  | { readonly kind: "drain"; readonly timeoutMs: number };

export type FromWorker =
  | { readonly kind: "serving" }
  /** Plants as one text: strings cross between threads several times faster than objects do. */
  | { readonly kind: "arrivals"; readonly batch: number; readonly arrivals: string }
  | { readonly kind: "ready?"; readonly question: number }
  | { readonly kind: "log"; readonly level: Level; readonly message: string; readonly fields: Fields }
  | { readonly kind: "drained" };
