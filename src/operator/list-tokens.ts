import { jsonContent } from "../http/openapi.ts";
import type { Route } from "../http/route.ts";
import { presentToken, type TokenParts } from "./tokens.ts";

export const listTokens: Route<TokenParts> = {
  method: "GET",
  path: "/api/tokens",
  scope: "operator",
  operation: {
    operationId: "listTokens",
    tags: ["tokens"],
    summary: "Lists the tokens, without their secrets.",
    success: { status: 200, description: "The tokens, the oldest first.", content: jsonContent("Tokens") },
  },
  handler:
    ({ tokens }) =>
    async (exchange) => {
      const nowMs = Date.now();
      exchange.json({ tokens: (await tokens.all()).map((token) => presentToken(token, nowMs)) });
    },
};
