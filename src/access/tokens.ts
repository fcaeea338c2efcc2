import type { Scope } from "./scopes.ts";
import { digestOf, mintSecret } from "./secret.ts";

/** A token as it is stored: with the digest of its secret, never the secret. */
export interface Token {
  /** Short and public, to identify one token where several share a name (during a rotation). */
  readonly id: string;
  /** Who holds it; stored with each plant as its creator. */
  readonly name: string;
  readonly digest: string;
  readonly scopes: readonly Scope[];
  readonly createdAtMs: number;
  readonly expiresAtMs: number | undefined;
  readonly revokedAtMs: number | undefined;
}

/** Stores tokens. */
export interface TokenStore {
  /** Every token ever created, oldest first. */
  all(): Promise<Token[]>;
  /** Adds the token and updates the changed ones in one transaction. */
  add(token: Token, changed?: readonly Token[]): Promise<void>;
  change(tokens: readonly Token[]): Promise<void>;
  /** Differs whenever another process may have changed tokens. Cheap enough to poll. */
  version(): Promise<string>;
}

/** A token request that cannot be met; the message is for the operator. */
export class TokenProblem extends Error {
  override readonly name = "TokenProblem";
}

export interface TokenRequest {
  readonly name: string;
  readonly scopes: readonly Scope[];
  readonly lifetimeMs: number | undefined;
}

export interface Minted {
  readonly token: Token;
  /** Printed once; it cannot be recovered. */
  readonly secret: string;
}

export interface Rotated extends Minted {
  /** The tokens that expire, each with the time at which it does. */
  readonly ending: readonly (Token & { readonly expiresAtMs: number })[];
}

const idShape = /^[0-9a-f]{8}$/;
const lifetimeMsMin = 1000;
const lifetimeMsMax = 100 * 365 * 86_400_000;
const nameShape = /^[^\p{C}\p{Z}](?:[^\p{C}]{0,62}[^\p{C}\p{Z}])?$/u;

export async function createToken(store: TokenStore, request: TokenRequest, nowMs: number): Promise<Minted> {
  if (!nameShape.test(request.name)) {
    throw new TokenProblem("A token's name has 1 to 64 printable characters and no space at either end.");
  }
  if (idShape.test(request.name))
    throw new TokenProblem(
      "A name of eight hexadecimal digits would look like a token's id; choose another.",
    );
  const namesake = (await store.all()).some((token) => token.name === request.name && isLive(token, nowMs));
  if (namesake) {
    throw new TokenProblem(
      `A live token is named "${request.name}" already; rotate or revoke that one, or choose another name.`,
    );
  }
  checkLifetime(request.lifetimeMs ?? 0);
  if ((request.lifetimeMs ?? lifetimeMsMin) < lifetimeMsMin)
    throw new TokenProblem("A token's lifetime is at least 1 second.");
  const minted = mintToken(request, nowMs);
  await store.add(minted.token);
  return minted;
}

/** A token with a new secret, not stored yet. */
export function mintToken({ name, scopes, lifetimeMs }: TokenRequest, nowMs: number): Minted {
  const secret = mintSecret();
  const digest = digestOf(secret);
  const expiresAtMs = lifetimeMs === undefined ? undefined : nowMs + lifetimeMs;
  const id = digest.slice(0, 8);
  return {
    secret,
    token: { id, name, digest, scopes, createdAtMs: nowMs, expiresAtMs, revokedAtMs: undefined },
  };
}

/** Adds a token of the same name with a new secret; the old one stays valid for the overlap, so that its holder can switch. */
export async function rotateToken(
  store: TokenStore,
  nameOrId: string,
  overlapMs: number,
  nowMs: number,
): Promise<Rotated> {
  const live = (await store.all()).filter((token) => matches(token, nameOrId) && isLive(token, nowMs));
  const newest = live.at(-1);
  if (newest === undefined) throw new TokenProblem(`No live token is called "${nameOrId}".`);
  const lifetimeMs = newest.expiresAtMs === undefined ? undefined : newest.expiresAtMs - newest.createdAtMs;
  const minted = mintToken({ name: newest.name, scopes: newest.scopes, lifetimeMs }, nowMs);
  checkLifetime(overlapMs);
  const endsAtMs = nowMs + overlapMs;
  const ending = live.map((token) => ({
    ...token,
    expiresAtMs: Math.min(token.expiresAtMs ?? endsAtMs, endsAtMs),
  }));
  await store.add(minted.token, ending);
  return { ...minted, ending };
}

/** Revokes every live token of that name, or the one with that id, and returns those it revoked. */
export async function revokeTokens(store: TokenStore, nameOrId: string, nowMs: number): Promise<Token[]> {
  const live = (await store.all()).filter((token) => matches(token, nameOrId) && isLive(token, nowMs));
  if (live.length === 0) throw new TokenProblem(`No live token is called "${nameOrId}".`);
  const revoked = live.map((token) => ({ ...token, revokedAtMs: nowMs }));
  await store.change(revoked);
  return revoked;
}

export function tokenState(token: Token, nowMs: number): "live" | "expired" | "revoked" {
  if (isLive(token, nowMs)) return "live";
  return token.revokedAtMs === undefined ? "expired" : "revoked";
}

export function isLive(token: Pick<Token, "expiresAtMs" | "revokedAtMs">, nowMs: number): boolean {
  return token.revokedAtMs === undefined && (token.expiresAtMs === undefined || nowMs < token.expiresAtMs);
}

function checkLifetime(lifetimeMs: number): void {
  if (lifetimeMs > lifetimeMsMax) throw new TokenProblem("A token's lifetime is at most 100 years.");
}

function matches(token: Token, nameOrId: string): boolean {
  return token.name === nameOrId || token.id === nameOrId;
}
