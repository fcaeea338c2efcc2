import type { AuditEntry } from "../access/audit.ts";
import { readConfig } from "../config/read-config.ts";
import { InvalidValue, parseCount } from "../config/values.ts";
import { presentPlant } from "../files/export-formats.ts";
import { parseInt64 } from "../plants/int64.ts";
import { type PlantFilter, pagesOf, type StoredPlant } from "../plants/plant-archive.ts";
import { openArchive } from "../storage/open-store.ts";
import { isoSeconds, parseTimeMs } from "../text/time.ts";
import { parseFlag } from "./arguments.ts";
import { type Arguments, type Command, type Flag, jsonFlag } from "./command.ts";
import { lostWalWarning } from "./local-files.ts";
import { escapeInvisible, formatColumns, formatCount, printJson, UsageError } from "./terminal.ts";

const limitDefault = 20;
const auditLimitDefault = 50;
const limitMax = 100_000;
const pageMax = 1000;
const nameColumnsMax = 60;
const tagColumnsMax = 30;

/** The flags of every command that reads plants. */
export const filterFlags: Readonly<Record<string, Flag>> = {
  tag: { placeholder: "TAG", help: "only plants with exactly this tag" },
  name: { placeholder: "TEXT", help: "only plants whose name contains this, ignoring case" },
  token: { placeholder: "NAME", help: "only plants created with the token of this name" },
  since: {
    placeholder: "TIME",
    help: "only plants stored at or after this time, such as 2026-11-15T09:30Z (UTC unless it has an offset)",
  },
  until: { placeholder: "TIME", help: "only plants stored before this time" },
};

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
    limit: { placeholder: "COUNT", help: `how many plants to list (${limitDefault})` },
    oldest: { help: "list the oldest first" },
    json: { help: "print JSON, with ids as strings" },
  },
  settings: ["database", "allowUnsafeDatabase"],
  async run(args, terminal) {
    const filter = parseFilter(args);
    const limit = parseFlag(args, "limit", (text) => parseCount(text, 1, limitMax)) ?? limitDefault;
    const order = args.has("oldest") ? "oldest-first" : "newest-first";
    await using opened = await openArchive(readConfig(args.sources), lostWalWarning(terminal));
    const found: StoredPlant[] = [];
    let isCut = false;
    for await (const page of pagesOf(opened.archive, filter, Math.min(limit, pageMax), order)) {
      found.push(...page.plants);
      isCut = found.length > limit || page.next !== undefined;
      if (found.length >= limit) break;
    }
    const plants = found.slice(0, limit);
    if (args.has("json")) printJson(terminal, plants.map(presentPlant));
    else if (plants.length === 0) terminal.note("No plants match.\n");
    else terminal.out(`${formatColumns([["ID", "NAME", "TAG", "STORED", "BY"], ...plants.map(cells)])}\n`);
    if (isCut && !args.has("json"))
      terminal.note(
        `Showing the first ${formatCount(plants.length)}. Use --limit for more, or export for all.\n`,
      );
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
    await using opened = await openArchive(readConfig(args.sources), lostWalWarning(terminal));
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
  summary: "list token changes, sign-ins, exports, imports and backups",
  examples: ["plant-store audit", "plant-store audit --limit 1000 --json"],
  flags: {
    limit: { placeholder: "COUNT", help: `how many entries to list (${auditLimitDefault})` },
    json: jsonFlag,
  },
  settings: ["database", "allowUnsafeDatabase"],
  async run(args, terminal) {
    const limit = parseFlag(args, "limit", (text) => parseCount(text, 1, limitMax)) ?? auditLimitDefault;
    await using opened = await openArchive(readConfig(args.sources), lostWalWarning(terminal));
    const { entries, next } = await opened.audit.page(limit, undefined);
    if (args.has("json")) printJson(terminal, entries.map(presentEntry));
    else if (entries.length === 0) terminal.note("The audit trail is empty.\n");
    else terminal.out(`${formatColumns([auditHeader, ...entries.map(entryCells)])}\n`);
    if (next !== undefined && !args.has("json"))
      terminal.note(`Showing the newest ${formatCount(entries.length)}. Use --limit for more.\n`);
    return 0;
  },
};

/** @throws UsageError */
export function parseFilter(args: Arguments): PlantFilter {
  return {
    tag: args.value("tag"),
    namePart: args.value("name") || undefined,
    createdBy: args.value("token"),
    sinceMs: parseFlag(args, "since", parseTime),
    untilMs: parseFlag(args, "until", parseTime),
  };
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
  const stored = isoSeconds(createdAtMs);
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
    `the id must be an integer from -9223372036854775808 to 9223372036854775807; it is "${text}"`,
  );
}

function parseTime(text: string): number {
  const timeMs = parseTimeMs(text);
  if (timeMs === undefined) throw new InvalidValue("must be a time, such as 2026-11-15 or 2026-11-15T09:30Z");
  return timeMs;
}
