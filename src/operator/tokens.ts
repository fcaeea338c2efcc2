import type { Origin } from "../access/audit.ts";
import { type Caller, isScope, type Scope, scopes, scopesDefault } from "../access/scopes.ts";
import { presentToken, type Token } from "../access/token.ts";
import type { TokenUpkeep } from "../access/token-upkeep.ts";
import {
  createToken,
  type Minted,
  overlapMsDefault,
  revokeTokens,
  rotateToken,
  type TokenStore,
} from "../access/tokens.ts";
import type { Exchange } from "../http/exchange.ts";
import { quoted, Refusal } from "../http/refusal.ts";
import { json } from "../http/reply.ts";
import { dayMs } from "../text/duration.ts";
import { InvalidValue, parseDuration } from "../text/parsers.ts";
import { isoTime } from "../text/time.ts";
import type { ActionRecorder } from "./action-recorder.ts";
import type { ApiRequest } from "./api-route.ts";
import { type Field, orRefusal, parseText, required } from "./parameters.ts";

// A JWT expires within minutes or hours, too soon for the tokens that its holder creates.
const byJwtLifetimeMsMax = 90 * dayMs;

const scopeList: Field<readonly Scope[], readonly Scope[] | undefined> = { read: readScopes };

export const createParameters = { name: required(parseText), scopes: scopeList, expiresIn: parseDuration };
export const revokeParameters = { id: required(parseText) };
export const rotateParameters = { id: required(parseText), overlap: parseDuration };

/** Lists and changes the tokens of the store. This node uses a change at once; others see it within a second. */
export function tokenHandlers(tokens: TokenStore, upkeep: TokenUpkeep, actions: ActionRecorder) {
  async function change<Result>(changing: Promise<Result>): Promise<Result> {
    const changed = await orRefusal(changing);
    await upkeep.reloadOrPollLater();
    return changed;
  }

  async function requireKnown(id: string): Promise<void> {
    if ((await tokens.all()).every((token) => token.id !== id))
      throw new Refusal("no-such-token", `No token has the id ${quoted(id)}.`);
  }

  return {
    list: async () => {
      const nowMs = Date.now();
      return json({ tokens: (await upkeep.all()).map((token) => presentToken(token, nowMs)) });
    },

    create: async ({ exchange, caller, values }: ApiRequest<typeof createParameters>) => {
      const { name, scopes, expiresIn: lifetimeMs } = values;
      actions.count(caller);
      const wanted = { name, scopes, lifetimeMs, expiresAtMsMax: latestExpiryMs(caller) };
      const minted = await change(createToken(tokens, wanted, originOf(exchange, caller), Date.now()));
      return presentMinted(minted, undefined);
    },

    /** Not limited: whoever has lost many tokens must be able to revoke all of them now. */
    revoke: async ({ exchange, caller, values: { id } }: ApiRequest<typeof revokeParameters>) => {
      await requireKnown(id);
      const [revoked] = await change(revokeTokens(tokens, id, originOf(exchange, caller), Date.now()));
      return json({ token: presentToken(revoked as Token, Date.now()) });
    },

    rotate: async ({ exchange, caller, values }: ApiRequest<typeof rotateParameters>) => {
      const { id, overlap: overlapMs = overlapMsDefault } = values;
      await requireKnown(id);
      actions.count(caller);
      const wanted = { nameOrId: id, overlapMs, expiresAtMsMax: latestExpiryMs(caller) };
      const rotated = await change(rotateToken(tokens, wanted, originOf(exchange, caller), Date.now()));
      return presentMinted(rotated, isoTime(rotated.oldValidUntilMs));
    },
  };
}

function originOf({ address }: Exchange, { name: actor }: Caller): Origin {
  return { actor, address };
}

/** Only this response has the secret. `oldUntil` says until when the one that was replaced stays valid. */
function presentMinted({ token, secret }: Minted, oldUntil: string | undefined) {
  return json({ token: presentToken(token, Date.now()), secret, oldUntil }, 201);
}

/** The latest expiry of a token that this caller creates: none outlives one of ours that creates it. */
export function latestExpiryMs({ hasJwt, expiresAtMs }: Caller): number | undefined {
  return hasJwt ? Date.now() + byJwtLifetimeMsMax : expiresAtMs;
}

function readScopes(sent: unknown): readonly Scope[] {
  if (sent === undefined) return scopesDefault;
  const wanted = Array.isArray(sent) ? [...new Set(sent)] : [];
  if (wanted.length === 0 || !wanted.every((scope) => typeof scope === "string" && isScope(scope)))
    throw new InvalidValue(`must be a list of at least one of ${scopes.join(", ")}`);
  return wanted as Scope[];
}
