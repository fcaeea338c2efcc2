import type { JWK, JWTVerifyGetKey } from "jose";
import { digestOf } from "../secret.ts";
import { FailurePace } from "./failure-pace.ts";
import { callerOf, type JwtCaller, type JwtSettings } from "./jwt-caller.ts";

// Only asymmetric ones: with HMAC, the provider's public key would be the secret.
const algorithms = [
  ...["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"],
  ...["ES256", "ES384", "ES512", "EdDSA", "Ed25519"],
];
// RFC 9068, and what older providers send.
const types = ["at+jwt", "application/at+jwt", "jwt"];
const clockToleranceSeconds = 30;
const rememberedMax = 10_000;

export type JwtRefusal = "bad-credentials" | "issuer-unavailable";

interface Keys {
  readonly all: readonly JWK[];
  find?: JWTVerifyGetKey;
  /** The id of each key, by the key as text. */
  readonly ids: ReadonlyMap<string, string | undefined>;
}

interface Remembered {
  readonly caller: JwtCaller;
  /** The id of the key that signed the token. */
  readonly kid: string | undefined;
}

/** Verifies JWT access tokens with the issuer's keys, and remembers those that passed. */
export class JwtVerifier {
  readonly #settings: JwtSettings;
  readonly #requestKeys: () => Promise<void>;
  readonly #pace = new FailurePace();
  // By digest, so that its size does not depend on the tokens'.
  readonly #remembered = new Map<string, Remembered>();
  #keys: Keys | undefined;
  #withdrawals = 0;

  /** `requestKeys` is called when a token names an unknown key; it settles once it is worth looking again. */
  constructor(settings: JwtSettings, requestKeys: () => Promise<void>) {
    this.#settings = settings;
    this.#requestKeys = requestKeys;
  }

  /** Replaces the issuer's keys, and forgets the tokens of those that are gone or have changed. */
  setKeys(keys: readonly JWK[] | undefined): void {
    const ids = new Map(keys?.map((key) => [JSON.stringify(key), key.kid]));
    const gone = [...(this.#keys?.ids ?? [])].filter(([text]) => !ids.has(text)).map(([, kid]) => kid);
    if (gone.length > 0) this.#withdrawals++;
    for (const [digest, { kid }] of this.#remembered)
      if (gone.includes(kid) || (kid === undefined && gone.length > 0)) this.#remembered.delete(digest);
    this.#keys = keys && { all: keys, ids };
  }

  /** Verifies no signature. `unverified`: `verify` has to decide. */
  recall(jwt: string, nowMs: number): JwtCaller | "bad-credentials" | "unverified" {
    const digest = digestOf(jwt);
    const caller = this.#remembered.get(digest)?.caller;
    if (caller === undefined) return isWorthVerifying(jwt, nowMs) ? "unverified" : "bad-credentials";
    if (nowMs >= caller.expiresAtMs) this.#remembered.delete(digest);
    return caller;
  }

  /** May wait for seconds, for the issuer or among forged tokens; the caller bounds how many wait. */
  async verify(jwt: string): Promise<JwtCaller | JwtRefusal> {
    const kid = partOf(jwt, 0)["kid"] as string | undefined;
    if (!this.#mayHave(kid)) await this.#requestKeys();
    if (this.#keys === undefined) return "issuer-unavailable";
    if (!this.#mayHave(kid)) return "bad-credentials";
    return (await this.#pace.run(() => this.#check(jwt))) ?? "bad-credentials";
  }

  // A token may leave the key's id out; jose then looks for the one key that matches.
  #mayHave(kid: string | undefined): boolean {
    return this.#keys !== undefined && (kid === undefined || [...this.#keys.ids.values()].includes(kid));
  }

  async #check(jwt: string): Promise<JwtCaller | undefined> {
    const keys = this.#keys;
    const withdrawals = this.#withdrawals;
    if (keys === undefined) return undefined;
    const { issuer, audience } = this.#settings;
    try {
      // Loading it takes tens of milliseconds, which a service without JWTs does not pay.
      const { createLocalJWKSet, jwtVerify } = await import("jose");
      keys.find ??= createLocalJWKSet({ keys: [...keys.all] });
      const { payload, protectedHeader } = await jwtVerify(jwt, keys.find, {
        issuer,
        audience,
        algorithms,
        clockTolerance: clockToleranceSeconds,
        requiredClaims: ["exp"],
      });
      const caller = callerOf(payload, this.#settings);
      // This key may have been withdrawn since.
      if (caller !== undefined && withdrawals === this.#withdrawals)
        this.#remember(digestOf(jwt), { caller, kid: protectedHeader.kid });
      return caller;
    } catch {
      return undefined;
    }
  }

  #remember(digest: string, remembered: Remembered): void {
    const [oldest] = this.#remembered.keys();
    if (this.#remembered.size >= rememberedMax && oldest !== undefined) this.#remembered.delete(oldest);
    this.#remembered.set(digest, remembered);
  }
}

/** What can be refused without a signature is: forged tokens cost little. */
function isWorthVerifying(jwt: string, nowMs: number): boolean {
  try {
    const { alg, typ, kid } = partOf(jwt, 0);
    const { exp } = partOf(jwt, 1);
    return (
      algorithms.includes(alg as string) &&
      typeof typ === "string" &&
      types.includes(typ.toLowerCase()) &&
      (kid === undefined || typeof kid === "string") &&
      typeof exp === "number" &&
      exp * 1000 > nowMs
    );
  } catch {
    return false;
  }
}

function partOf(jwt: string, index: number): Readonly<Record<string, unknown>> {
  return JSON.parse(Buffer.from(jwt.split(".")[index] ?? "", "base64url").toString());
}
