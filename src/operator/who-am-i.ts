import type { Caller } from "../access/gate.ts";
import { jsonContent } from "../http/openapi.ts";
import type { Route } from "../http/route.ts";
import { isoTime } from "./tokens.ts";

export const whoAmI: Route<unknown> = {
  method: "GET",
  path: "/api/me",
  scope: "operator:read",
  operation: {
    operationId: "whoAmI",
    tags: ["tokens"],
    summary: "Says whose token this is.",
    success: { status: 200, description: "The token's holder.", content: jsonContent("Caller") },
  },
  handler: () => (exchange, caller) => exchange.json(presentCaller(caller)),
};

export function presentCaller({ name, scopes, expiresAtMs }: Caller) {
  return { name, scopes, expiresAt: isoTime(expiresAtMs) };
}
