import type { JWK } from "jose";
import type { Gate, PresetToken } from "../access/gate.ts";
import type { JwtSettings } from "../access/oidc/jwt-caller.ts";
import type { Rate, RateMemory } from "../access/rate-limit.ts";
import type { Token, TokenUse } from "../access/tokens.ts";
import type { PublicListenerOptions } from "../public/public-listener.ts";
import type { CounterMemory } from "../telemetry/counters.ts";
import type { Fields, Level } from "../telemetry/log.ts";

/** What a worker needs to serve; for everything else it asks the main thread. */
export interface WorkerSetting {
  /** The port is the one that it is told to listen on. */
  readonly listener: PublicListenerOptions;
  readonly rateLimit: Rate | undefined;
  readonly rateMemory: RateMemory;
  readonly counterNames: readonly string[];
  readonly counterMemory: CounterMemory;
  /** Which part of that memory is its own; the first is the main thread's. */
  readonly thread: number;
  readonly presetTokens: readonly PresetToken[];
  /** Undefined until the store has been read. */
  readonly tokens: readonly Token[] | undefined;
  /** Undefined if no JWT is accepted. */
  readonly jwt: JwtSettings | undefined;
  /** The identity provider's; undefined until they are known. */
  readonly keys: readonly JWK[] | undefined;
}

/** What the main thread asks of a worker. */
export interface WorkerCalls extends Pick<Gate, "update" | "updateKeys"> {
  /** Shares this port with the main thread. */
  listen(port: number): Promise<void>;
  takeUses(): Promise<readonly TokenUse[]>;
  goUnready(): void;
  drain(timeoutMs: number): Promise<void>;
}

/** What a worker asks of the main thread. */
export interface MainCalls {
  /** Plants in and outcomes out, each as one text: strings cross between threads several times faster than objects do. */
  create(arrivals: string): Promise<string>;
  ready(): Promise<boolean>;
  /** Settles after the keys, if there are new ones, have been sent to every worker. */
  refreshKeys(): Promise<void>;
  log(level: Level, message: string, fields: Fields): void;
}
