import { type AuditEntryJson, presentAuditEntry } from "../access/audit.ts";
import { readStoreConfig } from "../config/read-config.ts";
import { openForReading } from "../storage/open-store.ts";
import { formatCount } from "../text/counts.ts";
import { countFrom } from "../text/parsers.ts";
import { readFlag } from "./arguments.ts";
import { type Command, jsonFlag, storeSecrets, storeSettings } from "./command.ts";
import { lostWalWarning } from "./lost-wal.ts";
import { type Column, formatTable } from "./table.ts";
import { escapeInvisible, printJson, type Terminal } from "./terminal.ts";

const limitDefault = 50;
const limitMax = 100_000;
const columns: readonly Column<AuditEntryJson>[] = [
  { heading: "at", text: ({ at }, time) => time(at) },
  { heading: "actor", text: ({ actor }) => escapeInvisible(actor), canBeCut: true },
  { heading: "action", text: ({ action }) => escapeInvisible(action) },
  { heading: "subject", text: ({ subject }) => escapeInvisible(subject), canBeCut: true },
  {
    heading: "address",
    text: ({ address }) => escapeInvisible(address ?? "-"),
    canBeCut: true,
    canBeLeftOut: true,
  },
  { heading: "detail", text: ({ detail }) => escapeInvisible(detail), canBeCut: true, roomyColumns: 20 },
];

export const audit: Command = {
  usage: "audit",
  summary: "list token changes, sign-ins, exports, imports and backups",
  examples: ["plant-store audit", "plant-store audit --limit 1000 --json"],
  flags: {
    limit: { placeholder: "COUNT", help: `how many entries to list (${limitDefault})` },
    json: jsonFlag,
  },
  settings: storeSettings,
  secrets: storeSecrets,
  async run(args, terminal) {
    const limit = readFlag(args, "limit", countFrom(1, limitMax)) ?? limitDefault;
    await using opened = await openForReading(readStoreConfig(args.sources), lostWalWarning(terminal));
    const { entries, next } = await opened.audit.page(limit, undefined);
    const presented = entries.map(presentAuditEntry);
    if (args.has("json")) printJson(terminal, presented);
    else printEntries(terminal, presented, { isCut: next !== undefined });
    return 0;
  },
};

function printEntries(
  terminal: Terminal,
  entries: readonly AuditEntryJson[],
  { isCut }: { readonly isCut: boolean },
): void {
  if (entries.length === 0) terminal.note("The audit trail is empty.\n");
  else terminal.out(`${formatTable(columns, entries, terminal)}\n`);
  if (isCut) terminal.note(`Showing the newest ${formatCount(entries.length)}. Use --limit for more.\n`);
}
