import { findPreset, type PresetToken } from "../access/gate.ts";
import { isScope, type Scope, scopes } from "../access/scopes.ts";
import {
  createToken,
  revokeTokens,
  rotateToken,
  type Token,
  TokenProblem,
  type TokenStore,
  tokenState,
} from "../access/tokens.ts";
import { type Answer, json, Refused, readObject } from "./call.ts";
import { text } from "./read-filter.ts";

export interface TokenParts {
  readonly tokens: TokenStore;
  /** Brings a change into force at once on this node; others see it within a second. */
  readonly tokensChanged: () => Promise<void>;
  readonly parseDurationMs: (text: string) => number;
  readonly presetTokens: readonly PresetToken[];
}

const overlapStandard = "1h";

export function listTokens({ tokens }: TokenParts): Answer {
  return async () => json({ tokens: (await tokens.all()).map((token) => shownToken(token, Date.now())) });
}

export function addToken(parts: TokenParts): Answer {
  return async ({ request }) => {
    const given = await readObject(request, ["name", "scopes", "expiresIn"]);
    const name = text(given, "name");
    if (name === undefined)
      throw new Refused("wrong-parameter", 'Field "name" is missing; expected a string.');
    const lifetimeMs = duration(parts, "expiresIn", text(given, "expiresIn"));
    const wanted = { name, scopes: readScopes(given["scopes"]), lifetimeMs };
    const { token, secret } = await told(createToken(parts.tokens, wanted, Date.now()));
    await parts.tokensChanged();
    return json({ token: shownToken(token, Date.now()), secret }, 201);
  };
}

export function revokeToken(parts: TokenParts): Answer {
  return async ({ request, named }) => {
    const token = await known(parts, named);
    await readObject(request, []);
    const [revoked] = await told(revokeTokens(parts.tokens, token.id, Date.now()));
    await parts.tokensChanged();
    const alsoPreset = findPreset([token], parts.presetTokens)?.name;
    return json({ token: shownToken(revoked ?? token, Date.now()), alsoPreset });
  };
}

export function rotate(parts: TokenParts): Answer {
  return async ({ request, named }) => {
    const { id } = await known(parts, named);
    const overlap = text(await readObject(request, ["overlap"]), "overlap");
    const overlapMs = duration(parts, "overlap", overlap ?? overlapStandard) ?? 0;
    const nowMs = Date.now();
    const { token, secret, ending } = await told(rotateToken(parts.tokens, id, overlapMs, nowMs));
    await parts.tokensChanged();
    const oldUntil = isoTime(Math.max(...ending.map(({ expiresAtMs }) => expiresAtMs)));
    const alsoPreset = findPreset(ending, parts.presetTokens)?.name;
    return json({ token: shownToken(token, nowMs), secret, oldUntil, alsoPreset }, 201);
  };
}

function shownToken(token: Token, nowMs: number) {
  const { id, name, scopes: allowed, createdAtMs, expiresAtMs, revokedAtMs } = token;
  return {
    id,
    name,
    scopes: allowed,
    createdAt: new Date(createdAtMs).toISOString(),
    expiresAt: isoTime(expiresAtMs),
    revokedAt: isoTime(revokedAtMs),
    state: tokenState(token, nowMs),
  };
}

async function known({ tokens }: TokenParts, id: string): Promise<Token> {
  const token = (await tokens.all()).find((candidate) => candidate.id === id);
  if (token === undefined) throw new Refused("no-such-token", `No token has the id ${id.slice(0, 50)}.`);
  return token;
}

async function told<Result>(work: Promise<Result>): Promise<Result> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof TokenProblem) throw new Refused("wrong-parameter", error.message);
    throw error;
  }
}

function readScopes(value: unknown): readonly Scope[] {
  const wanted = value === undefined ? ["plants:create"] : Array.isArray(value) ? [...new Set(value)] : [];
  if (wanted.length === 0 || !wanted.every((scope) => typeof scope === "string" && isScope(scope)))
    throw new Refused(
      "wrong-parameter",
      `Field "scopes" takes a list of ${scopes.join(" and ")}, at least one of them.`,
    );
  return wanted as Scope[];
}

function duration(
  { parseDurationMs }: TokenParts,
  name: string,
  value: string | undefined,
): number | undefined {
  if (value === undefined) return undefined;
  try {
    return parseDurationMs(value);
  } catch (error) {
    throw new Refused("wrong-parameter", `Field "${name}" ${(error as Error).message}.`);
  }
}

function isoTime(timeMs: number | undefined): string | undefined {
  return timeMs === undefined ? undefined : new Date(timeMs).toISOString();
}
