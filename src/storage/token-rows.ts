import { isScope } from "../access/scopes.ts";
import type { Token } from "../access/tokens.ts";

/** The columns of the table tokens, in the order of `tokenValues` and `tokenFrom`. */
export const tokenColumns = "id, name, digest, scopes, created_at_ms, expires_at_ms, revoked_at_ms";

export function tokenValues(token: Token): (string | number | null)[] {
  const { id, name, digest, scopes, createdAtMs, expiresAtMs, revokedAtMs } = token;
  return [id, name, digest, scopes.join(" "), createdAtMs, expiresAtMs ?? null, revokedAtMs ?? null];
}

export function tokenFrom(row: readonly unknown[]): Token {
  const [id, name, digest, scopes, createdAtMs, expiresAtMs, revokedAtMs] = row;
  return {
    id: String(id),
    name: String(name),
    digest: String(digest),
    scopes: String(scopes).split(" ").filter(isScope),
    createdAtMs: Number(createdAtMs),
    expiresAtMs: expiresAtMs === null ? undefined : Number(expiresAtMs),
    revokedAtMs: revokedAtMs === null ? undefined : Number(revokedAtMs),
  };
}
