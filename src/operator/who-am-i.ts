import type { Caller } from "../access/gate.ts";
import { jsonContent } from "../http/openapi.ts";
import type { Route } from "../http/route.ts";
import { isoTime } from "./tokens.ts";

export interface WhoAmIParts {
  /** Where clients reach the public listener, without a slash at the end. */
  readonly publicUrl: string;
}

export const whoAmI: Route<WhoAmIParts> = {
  method: "GET",
  path: "/api/me",
  scope: "operator:read",
  operation: {
    operationId: "whoAmI",
    tags: ["tokens"],
    summary: "Says whose token this is.",
    success: { status: 200, description: "The token's holder.", content: jsonContent("Caller") },
  },
  handler: (parts) => (exchange, caller) => exchange.json(presentCaller(caller, parts)),
};

export function presentCaller({ name, scopes, expiresAtMs }: Caller, { publicUrl }: WhoAmIParts) {
  return { name, scopes, expiresAt: isoTime(expiresAtMs), publicUrl };
}
