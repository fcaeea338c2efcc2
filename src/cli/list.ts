import type { AuditEntry } from "../access/audit.ts";
import { readConfig } from "../config/read-config.ts";
import { parseCount } from "../config/values.ts";
import { presentPlant } from "../files/export-formats.ts";
import { parseInt64 } from "../plants/int64.ts";
import type { StoredPlant } from "../plants/plant-archive.ts";
import { openArchive } from "../storage/open-store.ts";
import { parseFlag } from "./arguments.ts";
import { type Command, jsonFlag } from "./command.ts";
import { filterFlags, parseFilter } from "./plant-filter.ts";
import { formatCount } from "./progress-line.ts";
import { escapeInvisible, formatColumns, printJson, UsageError } from "./terminal.ts";

const limitDefault = 20;
const auditLimitDefault = 50;
const limitMax = 100_000;
const pageMax = 1000;
const searchMsMax = 1000;
const nameColumnsMax = 60;
const tagColumnsMax = 30;

export const list: Command = {
  usage: "list",
  summary: "list plants, newest first",
  examples: [
    "plant-store list",
    "plant-store list --tag indoor --limit 100",
    "plant-store list --name fern --json",
  ],
  flags: {
    ...filterFlags,
    limit: { placeholder: "COUNT", help: `the maximum number of plants (${limitDefault})` },
    oldest: { help: "list the oldest first" },
    json: { help: "print JSON, with ids as strings" },
  },
  settings: ["database", "allowUnsafeDatabase"],
  async run(args, terminal) {
    const filter = parseFilter(args);
    const limit = parseFlag(args, "limit", (text) => parseCount(text, 1, limitMax)) ?? limitDefault;
    const order = args.has("oldest") ? "oldest-first" : "newest-first";
    await using opened = await openArchive(readConfig(args.sources));
    const { rows: plants, isCut } = await readPages(limit, async (pageLimit, cursor) => {
      const page = await opened.archive.page({ filter, order, cursor, limit: pageLimit, searchMsMax });
      return { rows: page.plants, next: page.next };
    });
    if (args.has("json")) printJson(terminal, plants.map(presentPlant));
    else if (plants.length === 0) terminal.note("No plants match.\n");
    else terminal.out(`${formatColumns([["ID", "NAME", "TAG", "STORED", "BY"], ...plants.map(cells)])}\n`);
    if (isCut && !args.has("json"))
      terminal.note(`${theseAre("first", plants.length)}. Use --limit to list more, or export for all.\n`);
    return 0;
  },
};

export const show: Command = {
  usage: "show ID",
  positional: true,
  summary: "show one plant",
  examples: ["plant-store show 9007199254740993", "plant-store show -5 --json"],
  flags: { json: { help: "print JSON, with the id as a string" } },
  settings: ["database", "allowUnsafeDatabase"],
  async run(args, terminal) {
    const id = parseId(args.positional);
    await using opened = await openArchive(readConfig(args.sources));
    const plant = await opened.archive.find(id);
    if (plant === undefined) {
      terminal.err(`plant-store: no plant has the id ${id}.\n`);
      return 1;
    }
    if (args.has("json")) printJson(terminal, presentPlant(plant));
    else terminal.out(`${formatColumns(details(plant))}\n`);
    return 0;
  },
};

export const audit: Command = {
  usage: "audit",
  summary: "list who changed tokens, signed in and exported, newest first",
  examples: ["plant-store audit", "plant-store audit --limit 1000 --json"],
  flags: {
    limit: { placeholder: "COUNT", help: `the maximum number of entries (${auditLimitDefault})` },
    json: jsonFlag,
  },
  settings: ["database", "allowUnsafeDatabase"],
  async run(args, terminal) {
    const limit = parseFlag(args, "limit", (text) => parseCount(text, 1, limitMax)) ?? auditLimitDefault;
    await using opened = await openArchive(readConfig(args.sources));
    const { rows: entries, isCut } = await readPages(limit, async (pageLimit, cursor) => {
      const page = await opened.audit.page(pageLimit, cursor);
      return { rows: page.entries, next: page.next };
    });
    if (args.has("json")) printJson(terminal, entries.map(presentEntry));
    else if (entries.length === 0) terminal.note("The audit trail is empty.\n");
    else terminal.out(`${formatColumns([auditHeader, ...entries.map(entryCells)])}\n`);
    if (isCut && !args.has("json"))
      terminal.note(`${theseAre("newest", entries.length)}. Use --limit to list more.\n`);
    return 0;
  },
};

/** The rows of as many pages as hold that many, and whether there are more. */
async function readPages<Row>(
  limit: number,
  read: (
    limit: number,
    cursor?: string,
  ) => Promise<{ readonly rows: readonly Row[]; readonly next?: string | undefined }>,
): Promise<{ readonly rows: readonly Row[]; readonly isCut: boolean }> {
  const rows: Row[] = [];
  let cursor: string | undefined;
  do {
    const page = await read(Math.min(pageMax, limit - rows.length), cursor);
    rows.push(...page.rows);
    cursor = page.next;
  } while (cursor !== undefined && rows.length < limit);
  return { rows, isCut: cursor !== undefined };
}

function theseAre(which: string, count: number): string {
  return count === 1 ? `This is the ${which} one` : `These are the ${which} ${formatCount(count)}`;
}

const auditHeader = ["AT", "ACTOR", "ACTION", "SUBJECT", "ADDRESS", "DETAIL"];

function presentEntry({ atMs, address, ...entry }: AuditEntry) {
  return { at: new Date(atMs).toISOString(), ...entry, address: address ?? null };
}

function entryCells(entry: AuditEntry): string[] {
  const { at, actor, action, subject, address, detail } = presentEntry(entry);
  return [at, actor, action, subject, address ?? "-", detail].map((text) => escapeInvisible(text));
}

function cells({ id, name, tag, createdAtMs, createdBy }: StoredPlant): string[] {
  const stored = new Date(createdAtMs).toISOString().replace(/\.\d+Z$/, "Z");
  return [
    String(id),
    escapeInvisible(name, nameColumnsMax),
    escapeInvisible(tag ?? "", tagColumnsMax),
    stored,
    escapeInvisible(createdBy),
  ];
}

function details({ id, name, tag, createdAtMs, createdBy }: StoredPlant): string[][] {
  return [
    ["id", String(id)],
    ["name", escapeInvisible(name)],
    ...(tag === undefined ? [] : [["tag", escapeInvisible(tag)]]),
    ["stored", new Date(createdAtMs).toISOString()],
    ["by", escapeInvisible(createdBy)],
  ];
}

function parseId(text: string): bigint {
  const id = parseInt64(text);
  if (id !== undefined) return id;
  throw new UsageError(
    `an id must be an integer from -9223372036854775808 to 9223372036854775807; it is "${text}"`,
  );
}
