import { findPreset } from "../access/gate.ts";
import { revokeTokens } from "../access/tokens.ts";
import { jsonContent } from "../http/openapi.ts";
import type { Route } from "../http/route.ts";
import { orWrongParameter, pathParameter, readBody } from "./parameters.ts";
import { findToken, originOf, presentToken, type TokenParts } from "./tokens.ts";

export const revokeToken: Route<TokenParts> = {
  method: "POST",
  path: "/api/tokens/{id}/revoke",
  scope: "operator",
  operation: {
    operationId: "revokeToken",
    tags: ["tokens"],
    summary: "Revokes a token; every node knows within a second.",
    parameters: [pathParameter("id", "The token's id.")],
    success: { status: 200, description: "The token, revoked.", content: jsonContent("TokenAnswer") },
    errors: ["no-such-token"],
  },
  handler: (parts) => async (exchange, caller) => {
    const token = await findToken(parts, exchange.parameter);
    await readBody(exchange);
    const [revoked] = await orWrongParameter(
      revokeTokens(parts.tokens, token.id, originOf(exchange, caller), Date.now()),
    );
    await parts.tokensChanged();
    const alsoPreset = findPreset([token], parts.presets())?.name;
    exchange.json({ token: presentToken(revoked ?? token, Date.now()), alsoPreset });
  },
};
