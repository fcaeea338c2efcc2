import type { Connection } from "./connection.ts";
import type { Head } from "./head.ts";

/** Why a request failed before its handler could respond. */
export type WireFault = "not-http" | "head-too-large" | "body-too-large" | "body-too-slow";

export interface WireLimits {
  readonly bodyBytesMax: number;
  readonly bodyTimeoutMs: number;
}

/** What a connection calls in the server that it belongs to. */
export interface WireHandlers {
  /** Must respond sooner or later. */
  handle(connection: Connection, head: Head): void;
  /** Must respond immediately; the connection closes after the response. */
  fault(connection: Connection, fault: WireFault, reason: string, head: Head | undefined): void;
  /** Gets what a handler threw; must respond like `fault`. */
  crash(connection: Connection, error: unknown, head: Head): void;
}

/** Who sends a response piece by piece. */
export interface StreamOwner {
  /** Everything written so far has been sent. */
  drained(): void;
  /** The connection is closed, by whichever side. */
  closed(): void;
}
