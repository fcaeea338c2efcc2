import type { Origin } from "../access/audit.ts";
import type { Caller } from "../access/gate.ts";
import { isScope, type Scope, scopes, scopesDefault } from "../access/scopes.ts";
import { presentToken, type Token } from "../access/token.ts";
import type { TokenUpkeep } from "../access/token-upkeep.ts";
import {
  createToken,
  overlapMsDefault,
  revokeTokens,
  rotateToken,
  type TokenStore,
} from "../access/tokens.ts";
import type { Exchange } from "../http/exchange.ts";
import { HttpError } from "../http/http-error.ts";
import { type Route, route } from "../http/route.ts";
import { shortened } from "../text/cut-text.ts";
import { dayMs } from "../text/duration.ts";
import { isoTime } from "../text/time.ts";
import {
  orWrongParameter,
  readDuration,
  readFields,
  readRequiredText,
  type SentValues,
  wrongValueError,
} from "./parameters.ts";
import type { MintedTokenJson, RevokedTokenJson, TokensJson } from "./responses.ts";

const quotedIdCharactersMax = 50;
// A JWT expires within minutes or hours, too soon for the tokens that its holder creates.
const byJwtLifetimeMsMax = 90 * dayMs;

export function tokenRoutes(tokens: TokenStore, tokenUpkeep: TokenUpkeep): readonly Route[] {
  return [
    route("GET", "/api/tokens", "operator", async (exchange) => {
      const nowMs = Date.now();
      const presented = (await tokens.all()).map((token) => presentToken(token, nowMs));
      exchange.respondJson({ tokens: presented } satisfies TokensJson);
    }),

    route("POST", "/api/tokens", "operator", async (exchange, caller) => {
      const values = await readFields(exchange, ["name", "scopes", "expiresIn"]);
      const wanted = {
        name: readRequiredText(values, "name"),
        scopes: readScopes(values),
        lifetimeMs: readDuration(values, "expiresIn"),
        expiresAtMsMax: latestExpiryMs(caller),
      };
      const creating = createToken(tokens, wanted, originOf(exchange, caller), Date.now());
      const { token, secret } = await orWrongParameter(creating);
      // This node uses the change at once; others see it within a second. Only this response has the secret.
      await tokenUpkeep.reloadOrPollLater();
      exchange.respondJson(presentMinted(token, secret, undefined), 201);
    }),

    route("POST", "/api/tokens/{id}/revoke", "operator", async (exchange, caller) => {
      await readFields(exchange);
      const token = await requireToken(tokens, exchange.parameter);
      const revoking = revokeTokens(tokens, token.id, originOf(exchange, caller), Date.now());
      const [revoked = token] = await orWrongParameter(revoking);
      await tokenUpkeep.reloadOrPollLater();
      exchange.respondJson({ token: presentToken(revoked, Date.now()) } satisfies RevokedTokenJson);
    }),

    route("POST", "/api/tokens/{id}/rotate", "operator", async (exchange, caller) => {
      const values = await readFields(exchange, ["overlap"]);
      const overlapMs = readDuration(values, "overlap") ?? overlapMsDefault;
      const { id } = await requireToken(tokens, exchange.parameter);
      const wanted = { nameOrId: id, overlapMs, expiresAtMsMax: latestExpiryMs(caller) };
      const rotating = rotateToken(tokens, wanted, originOf(exchange, caller), Date.now());
      const { token, secret, oldValidUntilMs } = await orWrongParameter(rotating);
      await tokenUpkeep.reloadOrPollLater();
      exchange.respondJson(presentMinted(token, secret, isoTime(oldValidUntilMs)), 201);
    }),
  ];
}

function presentMinted(token: Token, secret: string, oldUntil: string | undefined): MintedTokenJson {
  return { token: presentToken(token, Date.now()), secret, oldUntil };
}

function originOf({ address }: Exchange, { name }: Caller): Origin {
  return { actor: name, address };
}

/** The latest expiry of a token that this caller creates: none outlives one of ours that creates it. */
export function latestExpiryMs({ hasJwt, expiresAtMs }: Caller): number | undefined {
  return hasJwt ? Date.now() + byJwtLifetimeMsMax : expiresAtMs;
}

async function requireToken(tokens: TokenStore, wanted: string): Promise<Token> {
  const token = (await tokens.all()).find((candidate) => candidate.id === wanted);
  if (token === undefined)
    throw new HttpError("no-such-token", `No token has the id ${shortened(wanted, quotedIdCharactersMax)}.`);
  return token;
}

function readScopes(values: SentValues): readonly Scope[] {
  const value = values.byName["scopes"];
  if (value === undefined) return scopesDefault;
  const wanted = Array.isArray(value) ? [...new Set(value)] : [];
  if (wanted.length === 0 || !wanted.every((scope) => typeof scope === "string" && isScope(scope)))
    throw wrongValueError(values, "scopes", `must be a list of at least one of ${scopes.join(", ")}`);
  return wanted as Scope[];
}
