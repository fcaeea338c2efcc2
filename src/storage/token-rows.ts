// The tokens of a store: both engines have the same columns, and allow the same changes.
import type { AuditEntry } from "../access/audit.ts";
import { isScope } from "../access/scopes.ts";
import { isLive, type Token } from "../access/token.ts";
import { TokenProblem, type TokenStore, type TokenUse } from "../access/tokens.ts";

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

/** What one transaction changes, if `isAllowed` says so of the tokens that are stored. */
export interface TokenChange {
  readonly added?: Token;
  readonly ended?: readonly Token[];
  readonly isAllowed?: (stored: readonly Token[]) => boolean;
}

/** What may be done to tokens, whichever engine stores them. */
export abstract class StoredTokens implements TokenStore {
  abstract all(): Promise<Token[]>;
  abstract recordUses(uses: readonly TokenUse[]): Promise<void>;
  abstract version(): Promise<string>;
  /** Stores the change and its entry in one transaction, or returns that it is not allowed. */
  protected abstract store(change: TokenChange, entry: AuditEntry): Promise<boolean>;

  async add(token: Token, entry: AuditEntry): Promise<void> {
    const isAllowed = (stored: readonly Token[]) =>
      !stored.some((other) => other.name === token.name && isLive(other, token.createdAtMs));
    if (!(await this.store({ added: token, isAllowed }, entry)))
      throw new TokenProblem(
        `A live token is already named "${token.name}"; rotate or revoke that one, or choose another name.`,
      );
  }

  async addReplacement(token: Token, entry: AuditEntry, replaced: readonly Token[]): Promise<void> {
    const isAllowed = (stored: readonly Token[]) => {
      const live = stored.filter((other) => isLive(other, token.createdAtMs)).map(({ digest }) => digest);
      return replaced.every(({ digest }) => live.includes(digest));
    };
    if (!(await this.store({ added: token, ended: replaced, isAllowed }, entry)))
      throw new TokenProblem(
        `A token named "${token.name}" was revoked or has expired meanwhile; nothing was changed.`,
      );
  }

  async addCopy(token: Token, entry: AuditEntry): Promise<void> {
    await this.store({ added: token }, entry);
  }

  async addFirst(token: Token, entry: AuditEntry): Promise<void> {
    await this.store({ added: token, isAllowed: (stored) => stored.length === 0 }, entry);
  }

  async change(tokens: readonly Token[], entry: AuditEntry): Promise<void> {
    await this.store({ ended: tokens }, entry);
  }
}

function numberFrom(value: unknown): number | undefined {
  return value === null ? undefined : Number(value);
}
