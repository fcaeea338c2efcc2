import { RecentMap } from "../cache/recent-map.ts";
import type { JwtRefusal, JwtVerifier } from "./jwt-verifier.ts";
import type { Caller } from "./scopes.ts";
import type { Token } from "./token.ts";
import { bearerShape, digestOf, jwtShape } from "./token-secret.ts";
import type { TokenUse } from "./tokens.ts";

/** A token from the configuration, not from the store. */
export interface PresetToken extends Caller {
  readonly digest: string;
}

/** Unknown, revoked, expired and malformed credentials are one case on purpose: no caller learns which it was. */
export type Denied =
  | "no-credentials"
  | "bad-credentials"
  /** The store's tokens are not known yet, so these credentials cannot be checked. */
  | "store-unavailable"
  | JwtRefusal;

const bearer = /^bearer(?: +(.*))?$/i;
// A caller can spell one header in many ways.
const cachedHeadersMax = 2000;

/** Authenticates from memory: no request waits for a database, and only a JWT's first waits at all. */
export class Gate {
  readonly presets: readonly PresetToken[];
  readonly #jwts: JwtVerifier | undefined;
  #callers = new Map<string, Caller>();
  #knowsStoredTokens = false;
  /**
   * Headers whose credentials are valid, whatever their scope, so that a caller's secret is hashed once and not on each request.
   * No others are cached, and the cache is cleared whenever the tokens change.
   */
  readonly #cached = new RecentMap<string, Caller>(cachedHeadersMax);
  #uses = new Map<string, number>();

  /** Without `jwts`, no JWT is accepted. */
  constructor(presets: readonly PresetToken[], jwts?: JwtVerifier) {
    this.presets = presets;
    this.#jwts = jwts;
    this.#admitOnly([]);
  }

  /** Replaces the store's tokens; a token that is not among them is rejected from now on. */
  update(tokens: readonly Token[]): void {
    this.#knowsStoredTokens = true;
    this.#admitOnly(tokens);
  }

  /** Whether the store's tokens have been read; until then only the tokens of the configuration can be judged. */
  get knowsStoredTokens(): boolean {
    return this.#knowsStoredTokens;
  }

  /**
   * The store's tokens that were used since the last call. Only the first use of a header is noticed, when it is not cached
   * yet, so that requests pay nothing; the cache is cleared here to notice the next.
   */
  takeUses(): TokenUse[] {
    const uses = Array.from(this.#uses, ([digest, atMs]) => ({ digest, atMs }));
    this.#uses = new Map();
    this.#cached.clear();
    return uses;
  }

  /** The uses that `takeUses` would return, by the digests of their tokens. */
  get uses(): ReadonlyMap<string, number> {
    return this.#uses;
  }

  /** The identity provider's keys have changed: every JWT is verified again. */
  forgetJwts(): void {
    this.#cached.clear();
  }

  /** Returns `unverified` for a JWT that has not passed before: then `decide` verifies it. */
  admit(authorization: string | undefined, nowMs: number): Caller | Denied | "unverified" {
    if (authorization === undefined) return "no-credentials";
    const caller = this.#cached.get(authorization) ?? this.#lookUp(authorization, nowMs);
    if (typeof caller === "string" || !isExpired(caller, nowMs)) return caller;
    // From now on it is hashed each time, so that it takes as long to refuse as an unknown one.
    this.#cached.delete(authorization);
    return "bad-credentials";
  }

  /** Like `admit`, but a JWT that is unverified is verified first, if the client still waits for it when its turn comes. */
  decide(
    authorization: string | undefined,
    client: { readonly isOpen: boolean },
  ): Caller | Denied | Promise<Caller | Denied> {
    const caller = this.admit(authorization, Date.now());
    return caller === "unverified" ? this.#verify(authorization ?? "", client) : caller;
  }

  async #verify(authorization: string, client: { readonly isOpen: boolean }): Promise<Caller | Denied> {
    const jwt = bearer.exec(authorization)?.[1] ?? "";
    const verified = await this.#jwts?.verify(jwt, () => client.isOpen);
    if (typeof verified === "string") return verified;
    const caller = this.admit(authorization, Date.now());
    // The provider's keys have changed meanwhile.
    return caller === "unverified" ? "issuer-unavailable" : caller;
  }

  #admitOnly(tokens: readonly Token[]): void {
    this.#callers = new Map();
    this.#cached.clear();
    for (const token of tokens) if (token.revokedAtMs === undefined) this.#callers.set(token.digest, token);
    // The presets come last, so that a secret that is also stored has only the preset's scopes: otherwise the preset
    // would keep a revoked token's scopes valid.
    for (const preset of this.presets) this.#callers.set(preset.digest, preset);
  }

  #lookUp(authorization: string, nowMs: number): Caller | Denied | "unverified" {
    const match = bearer.exec(authorization);
    if (match === null) return "no-credentials";
    const secret = match[1] ?? "";
    if (!bearerShape.test(secret)) return "bad-credentials";
    const digest = digestOf(secret);
    const jwts = jwtShape.test(secret) ? this.#jwts : undefined;
    const caller = jwts === undefined ? this.#callers.get(digest) : jwts.recall(digest);
    if (caller === undefined) {
      if (jwts !== undefined) return jwts.isPlausible(secret, nowMs) ? "unverified" : "bad-credentials";
      return this.#knowsStoredTokens ? "bad-credentials" : "store-unavailable";
    }
    if (isExpired(caller, nowMs)) return "bad-credentials";
    if (caller.id !== undefined) this.#uses.set(digest, nowMs);
    this.#cached.set(authorization, caller);
    return caller;
  }
}

function isExpired({ expiresAtMs }: Caller, nowMs: number): boolean {
  return expiresAtMs !== undefined && nowMs >= expiresAtMs;
}
