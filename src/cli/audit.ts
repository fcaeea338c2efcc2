import { type AuditEntry, presentAuditEntry } from "../access/audit.ts";
import { auditLabels } from "../text/audit-labels.ts";
import { formatCount } from "../text/counts.ts";
import { countFrom } from "../text/parsers.ts";
import { command, defaultingTo, flag, jsonFlag } from "./command.ts";
import { reading } from "./openings.ts";
import { type Column, formatTable } from "./table.ts";

const columns: readonly Column<AuditEntry>[] = [
  { heading: "at", cell: ({ atMs }) => atMs },
  { heading: "action", cell: ({ action }) => auditLabels[action] ?? action },
  { heading: "actor", cell: ({ actor }) => actor, isFreeText: true },
  { heading: "subject", cell: ({ subject }) => subject, isFreeText: true },
  { heading: "address", cell: ({ address }) => address, isFreeText: true },
  { heading: "detail", cell: ({ detail }) => detail, isFreeText: true },
];

export const audit = command({
  summary: "list token changes, sign-ins, exports, imports and backups",
  examples: ["plant-store audit", "plant-store audit --limit 1000 --json"],
  flags: {
    limit: defaultingTo("50", flag("COUNT", "how many entries to list", countFrom(1, 100_000))),
    json: jsonFlag,
  },
  opens: reading,
  async run({ flags: { limit, json }, opened: store }, terminal) {
    const { entries, next } = await store.audit.page(limit, undefined);
    if (json) terminal.printJson(entries.map(presentAuditEntry));
    else if (entries.length === 0) terminal.note("The audit trail is empty.\n");
    else terminal.out(`${formatTable(columns, entries, terminal)}\n`);
    if (next !== undefined && !json)
      terminal.note(`Showing the newest ${formatCount(entries.length)}. Use --limit for more.\n`);
    return true;
  },
});
