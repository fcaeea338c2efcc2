import { createHash } from "node:crypto";
import type { JWTPayload } from "jose";
import { timeMsMax } from "../text/time.ts";
import type { KeySet, OidcSettings, ProviderKeys } from "./provider-keys.ts";
import { type Caller, isScope } from "./scopes.ts";
import { isPlainName } from "./token-name.ts";
import { digestOf } from "./token-secret.ts";

export type JwtRefusal = "bad-credentials" | "issuer-unavailable";

// Only asymmetric algorithms: with HMAC, the provider's public key would be the secret.
const algorithms = [
  "RS256",
  "RS384",
  "RS512",
  "PS256",
  "PS384",
  "PS512",
  "ES256",
  "ES384",
  "ES512",
  "EdDSA",
  "Ed25519",
];
// The type of RFC 9068, and what older providers send.
const types = ["at+jwt", "application/at+jwt", "jwt"];
// How far the provider's clock may be ahead of ours: for `nbf` alone, since `isPlausible` and the gate compare `exp` without it.
const clockToleranceSeconds = 30;
// Enough to keep the threads busy that check signatures; the event loop stays free for other requests.
const concurrentMax = 4;

// No stored or preset token may have a name that starts with `oidc:`. Whoever registers a client chooses its id, which could be a
// person's `sub`.
const clientPrefix = "oidc:client:";
const userPrefix = "oidc:user:";
// A name with its prefix has at most as many characters as a token's name.
const holderCharactersMax = 52;
const digestCharacters = 32;

/** Verifies JWT access tokens with the identity provider's keys, and remembers those that passed until the keys change. */
export class JwtVerifier {
  readonly #keys: Pick<ProviderKeys, "settings" | "current" | "fetchUnknown">;
  /** The last check of each lane, the one that began longest ago first. A check begins when the one before it in its lane ends. */
  readonly #lanes: Promise<unknown>[] = Array(concurrentMax).fill(Promise.resolve());

  constructor(keys: Pick<ProviderKeys, "settings" | "current" | "fetchUnknown">) {
    this.#keys = keys;
  }

  /** The caller whose token has this digest, if it has passed. */
  recall(digest: string): Caller | undefined {
    return this.#keys.current?.accepted.get(digest);
  }

  /** Whether a token is worth verifying. Forged ones mostly are not, and then cost next to nothing. */
  isPlausible(jwt: string, nowMs: number): boolean {
    const { issuer, audience } = this.#keys.settings;
    try {
      const { alg, typ, kid } = parseJwtPart(jwt, 0);
      const { iss, aud, exp } = parseJwtPart(jwt, 1);
      return (
        algorithms.includes(alg as string) &&
        typeof typ === "string" &&
        types.includes(typ.toLowerCase()) &&
        (kid === undefined || typeof kid === "string") &&
        iss === issuer &&
        [aud].flat().includes(audience) &&
        typeof exp === "number" &&
        exp * 1000 > nowMs &&
        // JSON has no infinity, but 1e999 is read as one: a token that expires then would never expire.
        exp * 1000 <= timeMsMax
      );
    } catch {
      return false;
    }
  }

  /** Verifies a plausible token, unless nobody waits for it any more when its turn comes. */
  async verify(jwt: string, isAwaited: () => boolean): Promise<Caller | JwtRefusal> {
    const kid = parseJwtPart(jwt, 0)["kid"] as string | undefined;
    if (!mayHave(this.#keys.current, kid)) {
      // The token is in no lane yet, so that nobody in one waits for the provider.
      const areCurrent = await this.#keys.fetchUnknown();
      // Only the provider's current keys tell that a token is forged: its key may be new.
      if (!mayHave(this.#keys.current, kid)) return areCurrent ? "bad-credentials" : "issuer-unavailable";
    }
    const before = this.#lanes.shift() as Promise<unknown>;
    const checking = before.then(() => (isAwaited() ? this.#check(jwt) : "bad-credentials"));
    this.#lanes.push(checking.catch(() => {}));
    return checking;
  }

  async #check(jwt: string): Promise<Caller | JwtRefusal> {
    const { current, settings } = this.#keys;
    if (current === undefined) return "issuer-unavailable";
    const options = {
      issuer: settings.issuer,
      audience: settings.audience,
      algorithms,
      requiredClaims: ["exp"],
      clockTolerance: clockToleranceSeconds,
    };
    const verified = await current.verify(jwt, options).catch(() => undefined);
    // The keys have changed meanwhile: this token's may be gone.
    if (current !== this.#keys.current) return this.#check(jwt);
    const caller = verified && callerOf(verified.payload, settings);
    if (caller === undefined) return "bad-credentials";
    current.accepted.set(digestOf(jwt), caller);
    return caller;
  }
}

/** The caller whom the claims name; undefined if they name nobody. */
export function callerOf(claims: JWTPayload, settings: OidcSettings): Caller | undefined {
  const { client_id: clientId, sub, exp = 0, scope, scp } = claims;
  // A token of the console's own client belongs to the person who signed in.
  const isClient = clientId !== undefined && clientId !== null && clientId !== settings.clientId;
  const holder = isClient ? clientId : sub;
  if (typeof holder !== "string" || holder === "") return undefined;
  const granted = [scope, scp].flat().flatMap((value) => (typeof value === "string" ? value.split(" ") : []));
  return {
    name: (isClient ? clientPrefix : userPrefix) + holderName(holder),
    scopes: [...new Set(granted)].filter(isScope),
    expiresAtMs: exp * 1000,
    hasJwt: true,
  };
}

/** A shortened name could be another caller's; a digest is not. */
function holderName(holder: string): string {
  if ([...holder].length <= holderCharactersMax && isPlainName(holder)) return holder;
  return createHash("sha256").update(holder).digest("hex").slice(0, digestCharacters);
}

/** A token may leave the key's id out; jose then looks for the one key that matches. */
function mayHave(keySet: KeySet | undefined, kid: string | undefined): boolean {
  return keySet !== undefined && (kid === undefined || keySet.provider.keys.some((key) => key.kid === kid));
}

/** One part of a JWT: its header is the first, its claims are the second. @throws SyntaxError it is not JSON. */
function parseJwtPart(jwt: string, index: number): Readonly<Record<string, unknown>> {
  return JSON.parse(Buffer.from(jwt.split(".")[index] ?? "", "base64url").toString());
}
