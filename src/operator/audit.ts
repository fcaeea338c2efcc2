import { type AuditTrail, auditActions, presentAuditEntry } from "../access/audit.ts";
import { json } from "../http/reply.ts";
import { countFrom, oneOf, parseTime } from "../text/parsers.ts";
import type { ApiRequest } from "./api-route.ts";
import { orRefusal, parseText } from "./parameters.ts";

const limitDefault = 100;
const limitMax = 1000;

export const auditParameters = {
  limit: countFrom(1, limitMax),
  cursor: parseText,
  action: oneOf(auditActions),
  actor: parseText,
  since: parseTime,
  until: parseTime,
};

/** Who did what, the newest first; with parameters, only the entries of one action, by one actor, or of a time. */
export function listAudit(audit: AuditTrail) {
  return async ({ values }: ApiRequest<typeof auditParameters>) => {
    const { limit = limitDefault, cursor, action, actor, since, until } = values;
    const filter = { action, actor, sinceMs: since, untilMs: until };
    const { entries, next } = await orRefusal(audit.page(limit, cursor, filter));
    return json({ entries: entries.map(presentAuditEntry), next });
  };
}
