import { type AuditPage, type AuditTrail, auditActions, presentAuditEntry } from "../access/audit.ts";
import { type Route, route } from "../http/route.ts";
import { orWrongParameter, readChoice, readCount, readQuery, readText, readTime } from "./parameters.ts";
import type { AuditPageJson } from "./responses.ts";

const limitDefault = 100;
const limitMax = 1000;

/** Who did what, the newest first; with parameters, only the entries of one action, by one actor, or of a time. */
export function auditRoute(audit: AuditTrail): Route {
  return route("GET", "/api/audit", "operator", async (exchange) => {
    const values = readQuery(exchange.query, ["limit", "cursor", "action", "actor", "since", "until"]);
    const limit = readCount(values, "limit", limitDefault, limitMax);
    const filter = {
      action: readChoice(values, "action", auditActions),
      actor: readText(values, "actor"),
      sinceMs: readTime(values, "since"),
      untilMs: readTime(values, "until"),
    };
    const page = await orWrongParameter(audit.page(limit, readText(values, "cursor"), filter));
    exchange.respondJson(presentAuditPage(page));
  });
}

function presentAuditPage({ entries, next }: AuditPage): AuditPageJson {
  return { entries: entries.map(presentAuditEntry), next };
}
