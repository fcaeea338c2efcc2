import { digestOf } from "../secret.ts";
import { callerOf, type JwtCaller, type OidcSettings } from "./jwt-caller.ts";
import type { ProviderKeys } from "./provider-keys.ts";

// Only asymmetric ones: with HMAC, the provider's public key would be the secret.
const algorithms = [
  ...["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"],
  ...["ES256", "ES384", "ES512", "EdDSA", "Ed25519"],
];
// RFC 9068, and what older providers send.
const types = ["at+jwt", "application/at+jwt", "jwt"];
const clockToleranceSeconds = 30;
const acceptedMax = 10_000;
// Enough to keep the threads busy that check signatures; the event loop stays free for other requests.
const concurrentMax = 4;

export type JwtRefusal = "bad-credentials" | "issuer-unavailable";

/** Verifies JWT access tokens with the identity provider's keys, and remembers those that passed until the keys change. */
export class JwtVerifier {
  readonly #settings: OidcSettings;
  readonly #keys: Pick<ProviderKeys, "current" | "fetchUnknown">;
  #free = concurrentMax;
  readonly #waiting: (() => void)[] = [];

  constructor(settings: OidcSettings, keys: Pick<ProviderKeys, "current" | "fetchUnknown">) {
    this.#settings = settings;
    this.#keys = keys;
  }

  /** The caller whose token has this digest, if it has passed. */
  recall(digest: string): JwtCaller | undefined {
    return this.#keys.current?.accepted.get(digest);
  }

  /** Whether a token is worth verifying. Forged ones mostly are not, and then cost next to nothing. */
  isPlausible(jwt: string, nowMs: number): boolean {
    try {
      const { alg, typ, kid } = partOf(jwt, 0);
      const { iss, aud, exp } = partOf(jwt, 1);
      return (
        algorithms.includes(alg as string) &&
        types.includes((typ as string).toLowerCase()) &&
        (kid === undefined || typeof kid === "string") &&
        iss === this.#settings.issuer &&
        [aud].flat().includes(this.#settings.audience) &&
        typeof exp === "number" &&
        exp * 1000 > nowMs
      );
    } catch {
      return false;
    }
  }

  /** For a plausible token. If nobody waits for it any more when its turn comes, it is not verified. */
  async verify(jwt: string, isAwaited: () => boolean): Promise<JwtCaller | JwtRefusal> {
    const kid = partOf(jwt, 0)["kid"] as string | undefined;
    // Before its turn, so that nobody in the line waits for the provider.
    if (!this.#mayHave(kid)) await this.#keys.fetchUnknown();
    if (!this.#mayHave(kid))
      return this.#keys.current === undefined ? "issuer-unavailable" : "bad-credentials";
    if (this.#free > 0) this.#free--;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      return isAwaited() ? await this.#check(jwt) : "bad-credentials";
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#free++;
      else next();
    }
  }

  // A token may leave the key's id out; jose then looks for the one key that matches.
  #mayHave(kid: string | undefined): boolean {
    const keys = this.#keys.current?.provider.keys;
    return keys !== undefined && (kid === undefined || keys.some((key) => key.kid === kid));
  }

  async #check(jwt: string): Promise<JwtCaller | JwtRefusal> {
    const { current } = this.#keys;
    if (current === undefined) return "issuer-unavailable";
    const { issuer, audience } = this.#settings;
    const times = { requiredClaims: ["exp"], clockTolerance: clockToleranceSeconds };
    const options = { issuer, audience, algorithms, ...times };
    const verified = await current.verify(jwt, options).catch(() => undefined);
    // The keys have changed meanwhile: this token's may be gone.
    if (current !== this.#keys.current) return this.#check(jwt);
    const caller = verified && callerOf(verified.payload, this.#settings);
    if (caller === undefined) return "bad-credentials";
    const [oldest = ""] = current.accepted.keys();
    if (current.accepted.size >= acceptedMax) current.accepted.delete(oldest);
    current.accepted.set(digestOf(jwt), caller);
    return caller;
  }
}

function partOf(jwt: string, index: number): Readonly<Record<string, unknown>> {
  return JSON.parse(Buffer.from(jwt.split(".")[index] ?? "", "base64url").toString());
}
