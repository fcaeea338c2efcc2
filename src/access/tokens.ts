import { Problem } from "../system/problem.ts";
import { dayMs, hourMs } from "../text/duration.ts";
import { isoSeconds } from "../text/time.ts";
import type { AuditEntry, Origin } from "./audit.ts";
import type { Scope } from "./scopes.ts";
import { isLive, type Token } from "./token.ts";
import { whyNameRefused } from "./token-name.ts";
import { digestOf, mintSecret } from "./token-secret.ts";

export interface TokenUse {
  readonly digest: string;
  readonly atMs: number;
}

/** Stores tokens. A change and its entry in the audit trail are one transaction. */
export interface TokenStore {
  /** Every token ever created, oldest first. */
  all(): Promise<Token[]>;
  /**
   * Adds the token. If several processes add one of the same name at once, only one succeeds.
   * @throws TokenProblem nothing was stored: another token of that name is live when the new one is created.
   */
  add(token: Token, entry: AuditEntry): Promise<void>;
  /**
   * Adds the token and changes the others as `change` does. They may have its name.
   * @throws TokenProblem nothing was stored: one of the others is no longer live when the new one is created.
   */
  addReplacement(token: Token, entry: AuditEntry, replaced: readonly Token[]): Promise<void>;
  /** Adds a token of another store as it is there. Others may have its name. */
  addCopy(token: Token, entry: AuditEntry): Promise<void>;
  /** Adds the token unless there is one already. If several processes do so at once, only one succeeds. */
  addFirst(token: Token, entry: AuditEntry): Promise<void>;
  /** Updates the expiry and revocation, never to a later time: what another process has ended stays ended. */
  change(tokens: readonly Token[], entry: AuditEntry): Promise<void>;
  /** Updates the last uses, a change that `version` does not report. */
  recordUses(uses: readonly TokenUse[]): Promise<void>;
  /** Differs whenever another process may have changed tokens. Cheap enough to poll. */
  version(): Promise<string>;
}

/** A token request that cannot be met; the message is for the operator. */
export class TokenProblem extends Problem {
  override readonly name = "TokenProblem";
}

export interface TokenRequest {
  readonly name: string;
  readonly scopes: readonly Scope[];
  /** If undefined, the token never expires, or at `expiresAtMsMax`. */
  readonly lifetimeMs: number | undefined;
  /** No token outlives the one that creates it. */
  readonly expiresAtMsMax?: number | undefined;
}

export interface RotateRequest {
  /** Which token: every live one of that name, or the one with that id. */
  readonly nameOrId: string;
  /** How long the old secret stays valid. */
  readonly overlapMs: number;
  readonly expiresAtMsMax?: number | undefined;
}

export interface Minted {
  readonly token: Token;
  /** The secret is printed once, and cannot be recovered. */
  readonly secret: string;
}

export interface Rotated extends Minted {
  /** When the last of the old secrets expires. */
  readonly oldValidUntilMs: number;
}

type NewToken = Pick<Token, "name" | "scopes" | "expiresAtMs" | "createdBy">;

/** How long an old secret stays valid after a rotation. */
export const overlapMsDefault = hourMs;
/** How often a service looks for changes that others made. At this rate a revoked token is refused well within a second. */
export const tokensPollEveryMs = 250;
const lifetimeMsMin = 1000;
const lifetimeMsMax = 100 * 365 * dayMs;

/** @throws TokenProblem */
export async function createToken(
  store: TokenStore,
  request: TokenRequest,
  by: Origin,
  nowMs: number,
): Promise<Minted> {
  const { name, scopes } = request;
  const problem = whyNameRefused(name);
  if (problem !== undefined) throw new TokenProblem(problem);
  const expiresAtMs = expiryOf(request, nowMs);
  const minted = mintToken({ name, scopes, expiresAtMs, createdBy: by.actor }, nowMs);
  await store.add(minted.token, creationEntry(minted.token, by));
  return minted;
}

/** A token with a new secret, not stored yet. */
export function mintToken(fields: NewToken, nowMs: number): Minted {
  const secret = mintSecret();
  const digest = digestOf(secret);
  const id = digest.slice(0, 8);
  return {
    secret,
    token: { ...fields, id, digest, createdAtMs: nowMs, revokedAtMs: undefined, lastUsedAtMs: undefined },
  };
}

export function creationEntry(token: Token, by: Origin): AuditEntry {
  const { createdAtMs: atMs, name: subject } = token;
  return { ...by, atMs, action: "token.created", subject, detail: describeToken(token) };
}

/** Adds a token with the same name and a new secret; the old one stays valid for the overlap, so that its holder can switch. */
export async function rotateToken(
  store: TokenStore,
  { nameOrId, overlapMs, expiresAtMsMax = Number.POSITIVE_INFINITY }: RotateRequest,
  by: Origin,
  nowMs: number,
): Promise<Rotated> {
  const live = await requireLiveTokens(store, nameOrId, nowMs);
  refuseOverMax(overlapMs);

  // The new token lives as long as the newest one was to live, but not longer than allowed.
  const newest = live.at(-1) as Token;
  const { name, scopes } = newest;
  const lifetimeMs =
    newest.expiresAtMs === undefined ? Number.POSITIVE_INFINITY : newest.expiresAtMs - newest.createdAtMs;
  const latestMs = Math.min(nowMs + lifetimeMs, expiresAtMsMax);
  const expiresAtMs = Number.isFinite(latestMs) ? latestMs : undefined;
  const minted = mintToken({ name, scopes, expiresAtMs, createdBy: by.actor }, nowMs);

  // The old ones end with the overlap, unless they end before.
  const endsAtMs = nowMs + overlapMs;
  const ending = live.map((token) => ({
    ...token,
    expiresAtMs: Math.min(token.expiresAtMs ?? endsAtMs, endsAtMs),
  }));

  const oldValidUntilMs = Math.max(...ending.map((token) => token.expiresAtMs));
  const detail = `${describeToken(minted.token)}; replaces ${idsOf(ending)}, valid until ${isoSeconds(oldValidUntilMs)}`;
  const entry = { ...by, atMs: nowMs, action: "token.rotated", subject: name, detail } as const;
  await store.addReplacement(minted.token, entry, ending);
  return { ...minted, oldValidUntilMs };
}

/** Revokes every live token with that name, or the one with that id, and returns those it revoked. */
export async function revokeTokens(
  store: TokenStore,
  nameOrId: string,
  by: Origin,
  nowMs: number,
): Promise<Token[]> {
  const live = await requireLiveTokens(store, nameOrId, nowMs);
  const revoked = live.map((token) => ({ ...token, revokedAtMs: nowMs }));
  const subject = revoked[0]?.name ?? "";
  const entry = { ...by, atMs: nowMs, action: "token.revoked", subject, detail: idsOf(revoked) } as const;
  await store.change(revoked, entry);
  return revoked;
}

function expiryOf({ lifetimeMs, expiresAtMsMax }: TokenRequest, nowMs: number): number | undefined {
  if (lifetimeMs === undefined) return expiresAtMsMax;
  refuseOverMax(lifetimeMs);
  if (lifetimeMs < lifetimeMsMin) throw new TokenProblem("A token's lifetime is at least 1 second.");
  const expiresAtMs = nowMs + lifetimeMs;
  if (expiresAtMsMax !== undefined && expiresAtMs > expiresAtMsMax)
    throw new TokenProblem(
      `A token that you create must expire by ${isoSeconds(expiresAtMsMax)}. Choose a shorter lifetime, or none to use that time.`,
    );
  return expiresAtMs;
}

/** An overlap is the lifetime that an old secret has left. */
function refuseOverMax(lifetimeMs: number): void {
  if (lifetimeMs > lifetimeMsMax) throw new TokenProblem("A token's lifetime is at most 100 years.");
}

async function requireLiveTokens(store: TokenStore, nameOrId: string, nowMs: number): Promise<Token[]> {
  const live = (await store.all()).filter(
    (token) => (token.name === nameOrId || token.id === nameOrId) && isLive(token, nowMs),
  );
  if (live.length === 0) throw new TokenProblem(`No live token has the name or id "${nameOrId}".`);
  return live;
}

function describeToken({ id, scopes, expiresAtMs }: Token): string {
  const expiry = expiresAtMs === undefined ? "never expires" : `expires ${isoSeconds(expiresAtMs)}`;
  return `${id}: ${scopes.join(", ")}; ${expiry}`;
}

function idsOf(tokens: readonly Token[]): string {
  return tokens.map(({ id }) => id).join(", ");
}
