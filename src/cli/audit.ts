import type { AuditEntry } from "../access/audit.ts";
import { readConfig } from "../config/read-config.ts";
import { parseCount } from "../config/values.ts";
import { openArchive } from "../storage/open-store.ts";
import { parseFlag } from "./arguments.ts";
import { type Command, jsonFlag } from "./command.ts";
import { formatCount } from "./progress-line.ts";
import { escapeInvisible, formatColumns, printJson } from "./terminal.ts";

const limitDefault = 50;
const limitMax = 100_000;
const pageMax = 1000;

export const audit: Command = {
  usage: "audit",
  summary: "list who changed tokens, signed in and exported, newest first",
  examples: ["plant-store audit", "plant-store audit --limit 1000 --json"],
  flags: {
    limit: { placeholder: "COUNT", help: `the maximum number of entries (${limitDefault})` },
    json: jsonFlag,
  },
  settings: ["database", "allowUnsafeDatabase"],
  async run(args, terminal) {
    const limit = parseFlag(args, "limit", (text) => parseCount(text, 1, limitMax)) ?? limitDefault;
    await using opened = await openArchive(readConfig(args.sources), { older: false });
    const entries: AuditEntry[] = [];
    let cursor: string | undefined;
    do {
      const page = await opened.audit.page(Math.min(pageMax, limit - entries.length), cursor);
      entries.push(...page.entries);
      cursor = page.next;
    } while (cursor !== undefined && entries.length < limit);
    if (args.has("json")) printJson(terminal, entries.map(present));
    else if (entries.length === 0) terminal.note("The audit trail is empty.\n");
    else terminal.out(`${formatColumns([header, ...entries.map(cells)])}\n`);
    if (cursor !== undefined && !args.has("json"))
      terminal.note(
        `${entries.length === 1 ? "This is the newest one" : `These are the newest ${formatCount(entries.length)}`}. Use --limit to list more.\n`,
      );
    return 0;
  },
};

const header = ["AT", "ACTOR", "ACTION", "SUBJECT", "ADDRESS", "DETAIL"];

function present({ atMs, address, ...entry }: AuditEntry) {
  return { at: new Date(atMs).toISOString(), ...entry, address: address ?? null };
}

function cells(entry: AuditEntry): string[] {
  const { at, actor, action, subject, address, detail } = present(entry);
  return [at, actor, action, subject, address ?? "-", detail].map((text) => escapeInvisible(text));
}
