import type { AuditEntry, AuditTrail } from "../access/audit.ts";
import type { Caller } from "../access/gate.ts";
import type { Exchange } from "../http/exchange.ts";
import type { Route } from "../http/route.ts";
import type { PlantFilter } from "../plants/plant-archive.ts";
import { orWrongParameter, readCount, readQuery, readText } from "./parameters.ts";

export interface AuditParts {
  readonly audit: AuditTrail;
}

const limitDefault = 100;
const limitMax = 1000;
const detailCharactersMax = 500;

/** Who did what, the newest first. */
export const listAudit: Route<AuditParts> = {
  method: "GET",
  path: "/api/audit",
  scope: "operator",
  handler: (parts) => async (exchange) => {
    const values = readQuery(exchange.query, ["limit", "cursor"]);
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
  const detail = entry.detail.slice(0, detailCharactersMax);
  return audit.record({ atMs: Date.now(), actor: caller.name, address, ...entry, detail });
}

/** The filter for people, such as "tag bush, namePart fern". */
export function filterText(filter: PlantFilter): string {
  const chosen = Object.entries(filter).filter(([, value]) => value !== undefined);
  return chosen.map(([name, value]) => `${name} ${value}`).join(", ");
}
