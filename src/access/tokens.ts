import type { Scope } from "./scopes.ts";
import { digestOf, mintSecret } from "./secret.ts";

/** A token as it is kept: everything but the secret, of which only the digest exists. */
export interface Token {
  /** Short and public, to name one token where a name has several (during a rotation). */
  readonly id: string;
  /** Who holds it; plants remember their creator by this name. */
  readonly name: string;
  readonly digest: string;
  readonly scopes: readonly Scope[];
  readonly createdAtMs: number;
  readonly expiresAtMs: number | undefined;
  readonly revokedAtMs: number | undefined;
}

/** Where tokens are kept. */
export interface TokenStore {
  /** Every token ever made, the oldest first. */
  all(): Promise<Token[]>;
  /** Adds the token; where others are given, sets them as given in the same transaction. */
  add(token: Token, changed?: readonly Token[]): Promise<void>;
  change(tokens: readonly Token[]): Promise<void>;
  /** Another text whenever someone else may have changed tokens. Cheap enough to ask often. */
  version(): Promise<string>;
}

/** A token request that cannot be met, in words for the operator. */
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
  /** Shown once; nothing can bring it back. */
  readonly secret: string;
}

export interface Rotated extends Minted {
  /** The tokens that end, each with the time at which it does. */
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
  refuseTooLong(request.lifetimeMs ?? 0);
  if ((request.lifetimeMs ?? lifetimeMsMin) < lifetimeMsMin)
    throw new TokenProblem("A token lives for at least a second.");
  const minted = mint(request, nowMs);
  await store.add(minted.token);
  return minted;
}

/** Gives the name a new secret; the present one lives on for the overlap, so that its holder has time to change. */
export async function rotateToken(
  store: TokenStore,
  nameOrId: string,
  overlapMs: number,
  nowMs: number,
): Promise<Rotated> {
  const live = (await store.all()).filter((token) => isCalled(token, nameOrId) && isLive(token, nowMs));
  const newest = live.at(-1);
  if (newest === undefined) throw new TokenProblem(`No live token is called "${nameOrId}".`);
  const lifetimeMs = newest.expiresAtMs === undefined ? undefined : newest.expiresAtMs - newest.createdAtMs;
  const minted = mint({ name: newest.name, scopes: newest.scopes, lifetimeMs }, nowMs);
  refuseTooLong(overlapMs);
  const endsAtMs = nowMs + overlapMs;
  const ending = live.map((token) => ({
    ...token,
    expiresAtMs: Math.min(token.expiresAtMs ?? endsAtMs, endsAtMs),
  }));
  await store.add(minted.token, ending);
  return { ...minted, ending };
}

/** Ends every live token of that name, or the one with that id, and gives back those it ended. */
export async function revokeTokens(store: TokenStore, nameOrId: string, nowMs: number): Promise<Token[]> {
  const live = (await store.all()).filter((token) => isCalled(token, nameOrId) && isLive(token, nowMs));
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

function refuseTooLong(lifetimeMs: number): void {
  if (lifetimeMs > lifetimeMsMax) throw new TokenProblem("A token that ends does so within a hundred years.");
}

function isCalled(token: Token, nameOrId: string): boolean {
  return token.name === nameOrId || token.id === nameOrId;
}

function mint({ name, scopes, lifetimeMs }: TokenRequest, nowMs: number): Minted {
  const secret = mintSecret();
  const digest = digestOf(secret);
  const expiresAtMs = lifetimeMs === undefined ? undefined : nowMs + lifetimeMs;
  const id = digest.slice(0, 8);
  return {
    secret,
    token: { id, name, digest, scopes, createdAtMs: nowMs, expiresAtMs, revokedAtMs: undefined },
  };
}
