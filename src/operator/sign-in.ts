import type { Caller } from "../access/gate.ts";
import { jsonContent } from "../http/openapi.ts";
import type { Route } from "../http/route.ts";
import type { AuditParts } from "./list-audit.ts";
import { readBody } from "./read-body.ts";
import { originOf } from "./tokens.ts";
import { presentCaller } from "./who-am-i.ts";

const noFields = { properties: {} };

/** What whoAmI says, for someone who has just entered a token: the audit trail records it. */
export const signIn: Route<AuditParts> = {
  method: "POST",
  path: "/api/sign-in",
  scope: "operator:read",
  operation: {
    operationId: "signIn",
    tags: ["tokens"],
    summary:
      "Records in the audit trail that someone signed in to the console, and says whose token this is.",
    success: { status: 200, description: "The token's holder.", content: jsonContent("Caller") },
  },
  handler:
    ({ audit }) =>
    async (exchange, caller: Caller) => {
      await readBody(exchange, noFields);
      const action = "console.signed-in";
      await audit.record({
        ...originOf(exchange, caller),
        atMs: Date.now(),
        action,
        subject: "console",
        detail: caller.scopes.join(", "),
      });
      exchange.json(presentCaller(caller));
    },
};
