import type { Head } from "./head.ts";

/** Why a request failed before its handler could respond. */
export type WireFault = "not-http" | "head-too-large" | "body-too-large" | "body-too-slow";

export interface WireLimits {
  readonly bodyBytesMax: number;
  readonly bodyTimeoutMs: number;
}

/** What responding needs from a connection. */
export interface ResponseConnection {
  /** Whether a response can still be sent. */
  readonly isOpen: boolean;
  /** The connection closes after the current response. */
  readonly closing: boolean;
  /** In its canonical form. */
  readonly peerAddress: string;
  /**
   * Reads the body of the current request. `failed` is called in place of `done` if it does not arrive; then there is nothing
   * left to respond: `fault` has, or the client has gone away. `bytesMax` is for a route with its own limit.
   */
  readBody(done: (body: Buffer) => void, bytesMax?: number, failed?: () => void): void;
  /** Sends the whole response to the current request; `bytes` is its length. */
  send(data: string | Buffer, bytes: number): void;
  /** Starts a response that is sent piece by piece, by `write`, until `finish`. */
  stream(head: string, owner: StreamOwner): void;
  /** False if the next piece should wait for the owner's `drained`. */
  write(piece: Buffer): boolean;
  finish(): void;
  /** Nothing more is handled on this connection once the current request has its response. */
  closeAfterResponse(): void;
  close(): void;
}

/** What a connection calls in the server that it belongs to. */
export interface WireHandlers {
  /** Must respond sooner or later. */
  handle(connection: ResponseConnection, head: Head): void;
  /** Must respond immediately; the connection closes after the response. */
  fault(connection: ResponseConnection, fault: WireFault, reason: string, head: Head | undefined): void;
  /** Gets what a handler threw; must respond immediately. */
  crash(connection: ResponseConnection, error: unknown, head: Head): void;
}

/** Who sends a response piece by piece. */
export interface StreamOwner {
  /** Everything written so far has been sent. */
  drained(): void;
  /** The connection is closed, by whichever side. */
  closed(): void;
}
