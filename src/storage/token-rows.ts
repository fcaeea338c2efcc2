// The rows of tokens: both engines have the same columns.
import { isScope } from "../access/scopes.ts";
import type { Token } from "../access/token.ts";
import { TokenProblem } from "../access/tokens.ts";

/** The columns of the table tokens, in the order of `tokenValues` and `tokenFrom`. */
export const tokenColumns =
  "id, name, digest, scopes, created_at_ms, expires_at_ms, revoked_at_ms, created_by, last_used_at_ms";

export function tokenValues(token: Token): (string | number | null)[] {
  return [
    token.id,
    token.name,
    token.digest,
    token.scopes.join(" "),
    token.createdAtMs,
    token.expiresAtMs ?? null,
    token.revokedAtMs ?? null,
    token.createdBy,
    token.lastUsedAtMs ?? null,
  ];
}

export function tokenFrom(row: readonly unknown[]): Token {
  const [id, name, digest, scopes, createdAtMs, expiresAtMs, revokedAtMs, createdBy, lastUsedAtMs] = row;
  return {
    id: String(id),
    name: String(name),
    digest: String(digest),
    scopes: String(scopes).split(" ").filter(isScope),
    createdAtMs: Number(createdAtMs),
    expiresAtMs: numberFrom(expiresAtMs),
    revokedAtMs: numberFrom(revokedAtMs),
    createdBy: String(createdBy),
    lastUsedAtMs: numberFrom(lastUsedAtMs),
  };
}

/** The error for a token whose name a live one has. */
export function nameInUseProblem({ name }: Token): TokenProblem {
  return new TokenProblem(
    `A live token is already named "${name}"; rotate or revoke that one, or choose another name.`,
  );
}

/** The error for a token that would replace one that another request has ended since it was read. */
export function notLiveProblem({ name }: Token): TokenProblem {
  return new TokenProblem(
    `A token named "${name}" was revoked or has expired meanwhile; nothing was changed.`,
  );
}

function numberFrom(value: unknown): number | undefined {
  return value === null ? undefined : Number(value);
}
