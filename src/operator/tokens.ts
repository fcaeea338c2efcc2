import type { Origin } from "../access/audit.ts";
import type { Caller, PresetToken } from "../access/gate.ts";
import { formatRate } from "../access/rate-limit.ts";
import { type Token, type TokenStore, tokenState } from "../access/tokens.ts";
import type { Exchange } from "../http/exchange.ts";
import { HttpError } from "../http/http-error.ts";

/** What the routes of the tokens share. */
export interface TokenParts {
  readonly tokens: TokenStore;
  /** Applies a change on this node immediately; other nodes see it within a second. */
  readonly tokensChanged: () => Promise<void>;
  readonly parseDurationMs: (text: string) => number;
  readonly presets: () => readonly PresetToken[];
}

export function presentToken(token: Token, nowMs: number) {
  const { id, name, scopes, createdAtMs, expiresAtMs, revokedAtMs, createdBy, lastUsedAtMs } = token;
  return {
    id,
    name,
    scopes,
    createdAt: isoTime(createdAtMs),
    expiresAt: isoTime(expiresAtMs),
    revokedAt: isoTime(revokedAtMs),
    createdBy,
    lastUsedAt: isoTime(lastUsedAtMs),
    rateLimit: token.rateLimit && formatRate(token.rateLimit),
    state: tokenState(token, nowMs),
  };
}

export function originOf(exchange: Exchange, caller: Caller): Origin {
  return { actor: caller.name, address: exchange.address };
}

/** When a token that this caller creates expires at the latest: none outlives the one that creates it. */
export function latestExpiryMs({ mintLifetimeMsMax, expiresAtMs }: Caller): number | undefined {
  return mintLifetimeMsMax === undefined ? expiresAtMs : Date.now() + mintLifetimeMsMax;
}

export async function findToken({ tokens }: TokenParts, id: string): Promise<Token> {
  const token = (await tokens.all()).find((candidate) => candidate.id === id);
  if (token === undefined) throw new HttpError("no-such-token", `No token has the id ${id.slice(0, 50)}.`);
  return token;
}

export function readDuration(
  { parseDurationMs }: TokenParts,
  name: string,
  value: string | undefined,
): number | undefined {
  if (value === undefined) return undefined;
  try {
    return parseDurationMs(value);
  } catch (error) {
    throw new HttpError("wrong-parameter", `Field "${name}" ${(error as Error).message}.`);
  }
}

export function isoTime(timeMs: number): string;
export function isoTime(timeMs: number | undefined): string | undefined;
export function isoTime(timeMs: number | undefined): string | undefined {
  return timeMs === undefined ? undefined : new Date(timeMs).toISOString();
}
