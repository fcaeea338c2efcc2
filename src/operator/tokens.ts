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
import { quoted, Refusal } from "../http/refusal.ts";
import { json } from "../http/reply.ts";
import { dayMs } from "../text/duration.ts";
import { InvalidValue, parseDuration } from "../text/parsers.ts";
import { isoTime } from "../text/time.ts";
import type { ActionRecorder } from "./action-recorder.ts";
import type { ApiRequest } from "./api-route.ts";
import { type Field, orWrongParameter, parseText, required } from "./parameters.ts";
import type { MintedTokenJson } from "./responses.ts";

// A JWT expires within minutes or hours, too soon for the tokens that its holder creates.
const byJwtLifetimeMsMax = 90 * dayMs;

const scopeList: Field<readonly Scope[], readonly Scope[] | undefined> = { read: readScopes };

export const createParameters = { name: required(parseText), scopes: scopeList, expiresIn: parseDuration };
export const revokeParameters = { id: required(parseText) };
export const rotateParameters = { id: required(parseText), overlap: parseDuration };

/** Lists and changes the tokens of the store. This node uses a change at once; others see it within a second. */
export class Tokens {
  readonly #tokens: TokenStore;
  readonly #upkeep: TokenUpkeep;
  readonly #actions: ActionRecorder;

  constructor(tokens: TokenStore, upkeep: TokenUpkeep, actions: ActionRecorder) {
    this.#tokens = tokens;
    this.#upkeep = upkeep;
    this.#actions = actions;
  }

  readonly list = async () => {
    const nowMs = Date.now();
    return json({ tokens: (await this.#upkeep.all()).map((token) => presentToken(token, nowMs)) });
  };

  readonly create = async ({ exchange, caller, values }: ApiRequest<typeof createParameters>) => {
    const { name, scopes, expiresIn: lifetimeMs } = values;
    this.#actions.count(caller);
    const wanted = { name, scopes, lifetimeMs, expiresAtMsMax: latestExpiryMs(caller) };
    const origin = { actor: caller.name, address: exchange.address };
    const { token, secret } = await orWrongParameter(createToken(this.#tokens, wanted, origin, Date.now()));
    await this.#upkeep.reloadOrPollLater();
    return presentMinted(token, secret, undefined);
  };

  /** Not limited: whoever has lost many tokens must be able to revoke all of them now. */
  readonly revoke = async ({ exchange, caller, values }: ApiRequest<typeof revokeParameters>) => {
    const token = await this.#require(values.id);
    const origin = { actor: caller.name, address: exchange.address };
    const [revoked = token] = await orWrongParameter(
      revokeTokens(this.#tokens, token.id, origin, Date.now()),
    );
    await this.#upkeep.reloadOrPollLater();
    return json({ token: presentToken(revoked, Date.now()) });
  };

  readonly rotate = async ({ exchange, caller, values }: ApiRequest<typeof rotateParameters>) => {
    const { id, overlap: overlapMs = overlapMsDefault } = values;
    const { id: nameOrId } = await this.#require(id);
    this.#actions.count(caller);
    const wanted = { nameOrId, overlapMs, expiresAtMsMax: latestExpiryMs(caller) };
    const origin = { actor: caller.name, address: exchange.address };
    const { token, secret, oldValidUntilMs } = await orWrongParameter(
      rotateToken(this.#tokens, wanted, origin, Date.now()),
    );
    await this.#upkeep.reloadOrPollLater();
    return presentMinted(token, secret, isoTime(oldValidUntilMs));
  };

  async #require(id: string): Promise<Token> {
    const token = (await this.#tokens.all()).find((candidate) => candidate.id === id);
    if (token === undefined) throw new Refusal("no-such-token", `No token has the id ${quoted(id)}.`);
    return token;
  }
}

/** Only this response has the secret. */
function presentMinted(token: Token, secret: string, oldUntil: string | undefined) {
  return json<MintedTokenJson>({ token: presentToken(token, Date.now()), secret, oldUntil }, 201);
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
