import type { AuditEntry, AuditTrail } from "../access/audit.ts";
import type { Caller } from "../access/gate.ts";
import type { Exchange } from "../http/exchange.ts";
import { jsonContent } from "../http/openapi.ts";
import type { Route } from "../http/route.ts";
import { orWrongParameter, readCount, readQuery, readText, textParameter } from "./parameters.ts";

export interface AuditParts {
  readonly audit: AuditTrail;
}

const limitDefault = 100;
const limitMax = 1000;
const parameters = [
  textParameter("limit", `How many entries, at most ${limitMax}; ${limitDefault} where absent.`),
  textParameter("cursor", "From the page before."),
];

export const listAudit: Route<AuditParts> = {
  method: "GET",
  path: "/api/audit",
  scope: "operator",
  operation: {
    operationId: "listAudit",
    tags: ["tokens"],
    summary: "Lists who did what, the newest first.",
    parameters,
    success: { status: 200, description: "A page of the audit trail.", content: jsonContent("AuditPage") },
  },
  handler: (parts) => async (exchange) => {
    const values = readQuery(exchange.query, parameters);
    const limit = readCount(values, "limit", limitDefault, limitMax);
    const { entries, next } = await orWrongParameter(parts.audit.page(limit, readText(values, "cursor")));
    const presented = entries.map(({ atMs, ...entry }) => ({ at: new Date(atMs).toISOString(), ...entry }));
    exchange.json({ entries: presented, next });
  },
};

/** Resolves once the audit trail has the entry. The action must not happen before. */
export function recordAction(
  audit: AuditTrail,
  { address }: Exchange,
  caller: Caller,
  entry: Pick<AuditEntry, "action" | "subject" | "detail">,
): Promise<void> {
  return audit.record({ atMs: Date.now(), actor: caller.name, address, ...entry });
}
