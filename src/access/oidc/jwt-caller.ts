import { createHash } from "node:crypto";
import type { JWTPayload } from "jose";
import { isScope, type Scope } from "../scopes.ts";

/** Whose tokens are accepted. */
export interface OidcSettings {
  readonly issuer: string;
  readonly audience: string;
  /** The console's own client; its tokens belong to the people who signed in. */
  readonly clientId: string | undefined;
}

/** A caller that the identity provider vouches for. */
export interface JwtCaller {
  readonly name: string;
  readonly scopes: readonly Scope[];
  readonly expiresAtMs: number;
  readonly hasJwt: true;
}

// No stored or preset token may have a name that starts with `oidc:`. Whoever registers a client chooses its id, which could be a
// person's `sub`.
const clientPrefix = "oidc:client:";
const userPrefix = "oidc:user:";

// With a prefix, at most 64 characters.
const printable = /^[^\p{C}\p{Z}](?:[^\p{C}]{0,50}[^\p{C}\p{Z}])?$/u;
const digestCharacters = 32;
// The last time that a Date can hold.
const timeMsMax = 8.64e15;

/** Undefined if the token names nobody. */
export function callerOf(claims: JWTPayload, settings: OidcSettings): JwtCaller | undefined {
  const { client_id: clientId, sub, exp = 0 } = claims;
  const client = clientId === settings.clientId ? null : (clientId ?? null);
  const holder = client ?? sub;
  if (typeof holder !== "string" || holder === "") return undefined;
  return {
    name: (client === null ? userPrefix : clientPrefix) + printableName(holder),
    scopes: scopesOf(claims).filter(isScope),
    expiresAtMs: Math.min(exp * 1000, timeMsMax),
    hasJwt: true,
  };
}

// A shortened name could be another caller's; a digest is not.
function printableName(holder: string): string {
  if (printable.test(holder)) return holder;
  return createHash("sha256").update(holder).digest("hex").slice(0, digestCharacters);
}

function scopesOf({ scope, scp }: JWTPayload): string[] {
  const values = [scope, scp].flat().filter((value) => typeof value === "string");
  return [...new Set(values.flatMap((value) => value.split(" ")))];
}
