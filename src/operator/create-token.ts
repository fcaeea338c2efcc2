import { parseRateText, type Rate } from "../access/rate-limit.ts";
import { isScope, type Scope, scopes } from "../access/scopes.ts";
import { createToken as create } from "../access/tokens.ts";
import { HttpError } from "../http/http-error.ts";
import { jsonContent } from "../http/openapi.ts";
import type { Route } from "../http/route.ts";
import { orWrongParameter, readBody, readText } from "./parameters.ts";
import { schemas } from "./schemas.ts";
import { latestExpiryMs, originOf, presentToken, readDuration, type TokenParts } from "./tokens.ts";

export const createToken: Route<TokenParts> = {
  method: "POST",
  path: "/api/tokens",
  scope: "operator",
  operation: {
    operationId: "createToken",
    tags: ["tokens"],
    summary: "Creates a token. Its secret is in this response and nowhere else.",
    requestBody: { required: true, content: jsonContent("TokenRequest") },
    success: { status: 201, description: "The token and its secret.", content: jsonContent("Minted") },
  },
  handler: (parts) => async (exchange, caller) => {
    const values = await readBody(exchange, schemas.TokenRequest);
    const name = readText(values, "name");
    if (name === undefined)
      throw new HttpError("wrong-parameter", 'Field "name" is missing; expected a string.');
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

function readRate(text: string | undefined): Rate | undefined {
  const rate = text === undefined ? undefined : parseRateText(text);
  if (text !== undefined && rate === undefined)
    throw new HttpError(
      "wrong-parameter",
      'Field "rateLimit" must be a count per second, minute or hour, such as 100/s.',
    );
  return rate;
}

function readScopes(value: unknown): readonly Scope[] {
  const wanted = value === undefined ? ["plants:create"] : Array.isArray(value) ? [...new Set(value)] : [];
  if (wanted.length === 0 || !wanted.every((scope) => typeof scope === "string" && isScope(scope)))
    throw new HttpError(
      "wrong-parameter",
      `Field "scopes" must be a list of at least one of ${scopes.join(", ")}.`,
    );
  return wanted as Scope[];
}
