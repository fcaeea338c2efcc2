import { isoTime } from "../text/time.ts";
import type { Scope } from "./scopes.ts";

/** A token as it is stored: with the digest of its secret, never the secret. */
export interface Token {
  /** Short and public, to identify one token where several share a name (during a rotation). */
  readonly id: string;
  /** Who holds the token; stored with each plant as its creator. */
  readonly name: string;
  readonly digest: string;
  readonly scopes: readonly Scope[];
  readonly createdAtMs: number;
  readonly expiresAtMs: number | undefined;
  readonly revokedAtMs: number | undefined;
  /** The actor of its entry in the audit trail. */
  readonly createdBy: string;
  /** When it was last used, to the minute. A use may be missing for a while: they are written in the background. */
  readonly lastUsedAtMs: number | undefined;
}

/** A token as the operator API and `--json` return it. JSON omits what is undefined. */
export type TokenJson = ReturnType<typeof presentToken>;

export function presentToken(token: Token, nowMs: number) {
  return {
    id: token.id,
    name: token.name,
    scopes: token.scopes,
    createdAt: isoTime(token.createdAtMs),
    expiresAt: isoTime(token.expiresAtMs),
    revokedAt: isoTime(token.revokedAtMs),
    createdBy: token.createdBy,
    lastUsedAt: isoTime(token.lastUsedAtMs),
    state: tokenState(token, nowMs),
  };
}

export function tokenState(token: Token, nowMs: number): "live" | "expired" | "revoked" {
  if (isLive(token, nowMs)) return "live";
  return token.revokedAtMs === undefined ? "expired" : "revoked";
}

export function isLive(token: Pick<Token, "expiresAtMs" | "revokedAtMs">, nowMs: number): boolean {
  return token.revokedAtMs === undefined && (token.expiresAtMs === undefined || nowMs < token.expiresAtMs);
}
