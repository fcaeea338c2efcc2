import type { AuditEntry, AuditTrail } from "../access/audit.ts";
import type { Caller } from "../access/gate.ts";
import type { Exchange } from "../http/exchange.ts";
import { type Route, route } from "../http/route.ts";
import { isoTime, orWrongParameter, readCount, readQuery, readText } from "./parameters.ts";

const limitDefault = 100;
const limitMax = 1000;
const detailCharactersMax = 500;

/** Who did what, the newest first. */
export function auditRoute(audit: AuditTrail): Route {
  return route("GET", "/api/audit", "operator", async (exchange) => {
    const values = readQuery(exchange.query, ["limit", "cursor"]);
    const limit = readCount(values, "limit", limitDefault, limitMax);
    const { entries, next } = await orWrongParameter(audit.page(limit, readText(values, "cursor")));
    const presented = entries.map(({ atMs, ...entry }) => ({ at: isoTime(atMs), ...entry }));
    exchange.json({ entries: presented, next });
  });
}

/** Resolves once the audit trail has the entry. The action must not happen before. */
export function recordAction(
  audit: AuditTrail,
  { address }: Exchange,
  { name: actor }: Caller,
  action: AuditEntry["action"],
  subject: string,
  detail = "",
): Promise<void> {
  const shortened = detail.slice(0, detailCharactersMax);
  return audit.record({ atMs: Date.now(), actor, address, action, subject, detail: shortened });
}
