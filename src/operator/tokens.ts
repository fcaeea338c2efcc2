import type { Origin } from "../access/audit.ts";
import { type Caller, findPreset, type PresetToken } from "../access/gate.ts";
import { formatRate, parseRateText, type Rate } from "../access/rate-limit.ts";
import { isScope, type Scope, scopes } from "../access/scopes.ts";
import {
  createToken as create,
  revokeTokens,
  rotateToken as rotate,
  type Token,
  type TokenStore,
  tokenState,
} from "../access/tokens.ts";
import type { Exchange } from "../http/exchange.ts";
import { HttpError } from "../http/http-error.ts";
import type { Route } from "../http/route.ts";
import { orWrongParameter, readBody, readText, wrong } from "./parameters.ts";

export interface TokenParts {
  readonly tokens: TokenStore;
  /** Applies a change on this node immediately; other nodes see it within a second. */
  readonly tokensChanged: () => Promise<void>;
  readonly parseDurationMs: (text: string) => number;
  readonly presets: readonly PresetToken[];
}

const overlapDefault = "1h";
// A JWT expires within minutes or hours, too soon for the tokens that its holder creates.
const byJwtLifetimeMsMax = 90 * 86_400_000;

const listTokens: Route<TokenParts> = {
  method: "GET",
  path: "/api/tokens",
  scope: "operator",
  handler: (parts) => async (exchange) => {
    const nowMs = Date.now();
    exchange.json({ tokens: (await parts.tokens.all()).map((token) => presentToken(token, nowMs)) });
  },
};

const createToken: Route<TokenParts> = {
  method: "POST",
  path: "/api/tokens",
  scope: "operator",
  handler: (parts) => async (exchange, caller) => {
    const values = await readBody(exchange, ["name", "scopes", "expiresIn", "rateLimit"]);
    const name = readText(values, "name");
    if (name === undefined) throw wrong('Field "name" is missing; expected a string.');
    const lifetimeMs = readDuration(parts, "expiresIn", readText(values, "expiresIn"));
    const wanted = {
      name,
      scopes: readScopes(values["scopes"]),
      lifetimeMs,
      rateLimit: readRate(readText(values, "rateLimit")),
      expiresAtMsMax: latestExpiryMs(caller),
    };
    const by = originOf(exchange, caller);
    const { token, secret } = await orWrongParameter(create(parts.tokens, wanted, by, Date.now()));
    await parts.tokensChanged();
    exchange.json({ token: presentToken(token, Date.now()), secret }, 201);
  },
};

const revokeToken: Route<TokenParts> = {
  method: "POST",
  path: "/api/tokens/{id}/revoke",
  scope: "operator",
  handler: (parts) => async (exchange, caller) => {
    const token = await findToken(parts, exchange.parameter);
    await readBody(exchange);
    const by = originOf(exchange, caller);
    const [revoked] = await orWrongParameter(revokeTokens(parts.tokens, token.id, by, Date.now()));
    await parts.tokensChanged();
    const alsoPreset = findPreset([token], parts.presets)?.name;
    exchange.json({ token: presentToken(revoked ?? token, Date.now()), alsoPreset });
  },
};

const rotateToken: Route<TokenParts> = {
  method: "POST",
  path: "/api/tokens/{id}/rotate",
  scope: "operator",
  handler: (parts) => async (exchange, caller) => {
    const { id: rotated } = await findToken(parts, exchange.parameter);
    const overlap = readText(await readBody(exchange, ["overlap"]), "overlap") ?? overlapDefault;
    const overlapMs = readDuration(parts, "overlap", overlap) ?? 0;
    const nowMs = Date.now();
    const wanted = { overlapMs, expiresAtMsMax: latestExpiryMs(caller) };
    const by = originOf(exchange, caller);
    const { token, secret, ending } = await orWrongParameter(
      rotate(parts.tokens, rotated, wanted, by, nowMs),
    );
    await parts.tokensChanged();
    const oldUntil = isoTime(Math.max(...ending.map(({ expiresAtMs }) => expiresAtMs)));
    const alsoPreset = findPreset(ending, parts.presets)?.name;
    exchange.json({ token: presentToken(token, nowMs), secret, oldUntil, alsoPreset }, 201);
  },
};

export const tokenRoutes = [listTokens, createToken, revokeToken, rotateToken] as const;

export function isoTime(timeMs: number | undefined): string | undefined {
  return timeMs === undefined ? undefined : new Date(timeMs).toISOString();
}

function presentToken(token: Token, nowMs: number) {
  const { id, name, scopes, createdAtMs, expiresAtMs, revokedAtMs, createdBy, lastUsedAtMs } = token;
  return {
    id,
    name,
    scopes,
    createdAt: isoTime(createdAtMs),
    expiresAt: isoTime(expiresAtMs),
    revokedAt: isoTime(revokedAtMs),
    createdBy,
    lastUsedAt: isoTime(lastUsedAtMs),
    rateLimit: token.rateLimit && formatRate(token.rateLimit),
    state: tokenState(token, nowMs),
  };
}

function originOf({ address }: Exchange, { name }: Caller): Origin {
  return { actor: name, address };
}

/** The latest expiry of a token that this caller creates: none outlives one of ours that creates it. */
function latestExpiryMs({ hasJwt, expiresAtMs }: Caller): number | undefined {
  return hasJwt ? Date.now() + byJwtLifetimeMsMax : expiresAtMs;
}

async function findToken({ tokens }: TokenParts, wanted: string): Promise<Token> {
  const token = (await tokens.all()).find((candidate) => candidate.id === wanted);
  if (token === undefined)
    throw new HttpError("no-such-token", `No token has the id ${wanted.slice(0, 50)}.`);
  return token;
}

function readDuration(
  { parseDurationMs }: TokenParts,
  name: string,
  value: string | undefined,
): number | undefined {
  try {
    return value === undefined ? undefined : parseDurationMs(value);
  } catch (error) {
    throw wrong(`Field "${name}" ${(error as Error).message}.`);
  }
}

function readRate(text: string | undefined): Rate | undefined {
  const rate = text === undefined ? undefined : parseRateText(text);
  if (text !== undefined && rate === undefined)
    throw wrong('Field "rateLimit" must be a count per second, minute or hour, such as 100/s.');
  return rate;
}

function readScopes(value: unknown): readonly Scope[] {
  const wanted = value === undefined ? ["plants:create"] : Array.isArray(value) ? [...new Set(value)] : [];
  if (wanted.length === 0 || !wanted.every((scope) => typeof scope === "string" && isScope(scope)))
    throw wrong(`Field "scopes" must be a list of at least one of ${scopes.join(", ")}.`);
  return wanted as Scope[];
}
