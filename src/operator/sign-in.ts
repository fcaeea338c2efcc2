import type { Caller } from "../access/gate.ts";
import { SignIns } from "../access/sign-ins.ts";
import { jsonContent } from "../http/openapi.ts";
import type { Route } from "../http/route.ts";
import type { AuditParts } from "./list-audit.ts";
import { readBody } from "./parameters.ts";
import { originOf } from "./tokens.ts";
import { presentCaller, type WhoAmIParts } from "./who-am-i.ts";

/** What whoAmI says, for someone who has just entered a token: the audit trail records it, once a minute. */
export const signIn: Route<AuditParts & WhoAmIParts> = {
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
  handler: ({ audit, publicUrl }) => {
    const signIns = new SignIns();
    return async (exchange, caller: Caller) => {
      await readBody(exchange);
      const action = "console.signed-in";
      const origin = originOf(exchange, caller);
      const detail = caller.scopes.join(", ");
      await signIns.once(origin, performance.now(), () =>
        audit.record({ ...origin, atMs: Date.now(), action, subject: "console", detail }),
      );
      exchange.json(presentCaller(caller, { publicUrl }));
    };
  },
};
