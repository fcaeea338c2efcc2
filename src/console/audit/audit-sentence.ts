import type { AuditEntryJson } from "../../operator/responses.ts";
import { formatCount } from "../../text/counts.ts";
import { formatMinute } from "../format.ts";

/** What was done, as a sentence without its subject: "rotated token greenhouse; the old secret works until 08:41". */
export function describeAuditEntry(entry: AuditEntryJson): string {
  const { action, subject, detail } = entry;
  switch (action) {
    case "token.created":
      return `created token ${subject}${describeScopesAndExpiry(detail)}`;
    case "token.rotated":
      return `rotated token ${subject}${describeOverlap(entry)}`;
    case "token.revoked":
      return `revoked token ${subject}`;
    case "token.copied":
      return `copied token ${subject} from another store`;
    case "store.copied":
      return `copied the store ${detail}`;
    case "console.signed-in":
      return `signed in to the console with ${detail}`;
    case "export.started":
      return describeExport(detail);
    case "follow.started":
      return `read ${describePlants(detail)} from the beginning`;
    case "import.started":
      return `started to import ${subject}`;
    case "import.finished":
      return `imported ${subject}: ${detail.replace(/\d+/g, formatCount)}`;
    case "import.stopped":
      return `stopped to import ${subject}: ${detail}`;
    case "import.failed":
      return `failed to import ${subject}: ${detail}`;
    case "backup.failed":
      return `failed to make a backup: ${detail}`;
    case "backup.created":
      return "started a backup";
    case "backup.verified":
      return `started to verify backup ${subject}`;
    case "backup.downloaded":
      return `downloaded backup ${subject}`;
    default:
      // A newer version may have recorded what this one has no sentence for.
      return [action, subject, detail].filter((part) => part !== "").join(" ");
  }
}

/** The detail of a new token is "id: scopes; never expires", or "…; expires TIME". */
function describeScopesAndExpiry(detail: string): string {
  const match = /^\w+: ([^;]*); (?:never expires|expires (\S+))$/.exec(detail);
  if (match === null) return "";
  const [, scopes, expiresAt] = match;
  const expiry = expiresAt === undefined ? "never expires" : `expires ${formatMinute(expiresAt)}`;
  return ` with ${scopes}; it ${expiry}`;
}

/** The detail of a rotation ends with "; replaces IDS, valid until TIME". */
function describeOverlap({ at, detail }: AuditEntryJson): string {
  const until = /; replaces [\w, ]+, valid until (\S+)$/.exec(detail)?.[1];
  if (until === undefined) return "";
  // The detail has whole seconds.
  const isImmediate = Date.parse(until) <= Date.parse(at);
  return isImmediate
    ? "; the old secret stopped working at once"
    : `; the old secret works until ${formatMinute(until)}`;
}

/** The detail of an export is its format, and the filter if there is one. */
function describeExport(detail: string): string {
  const [, format = "", filter = ""] = /^([\w-]+)(?:, (.*))?$/su.exec(detail) ?? [];
  if (format === "") return `exported plants ${detail}`;
  return `exported ${describePlants(filter)} as ${formatNames[format] ?? format}`;
}

const formatNames: Readonly<Record<string, string>> = {
  ndjson: "NDJSON",
  json: "JSON",
  csv: "CSV",
  "csv-safe": "CSV for spreadsheets",
};

/** "all plants", or "plants with tag "indoor", created from 15 Nov, 08:41". What is not understood stays as it is. */
function describePlants(filter: string): string {
  if (filter === "") return "all plants";
  const parts = [...filter.matchAll(filterPart)];
  const isUnderstood = parts.map(([whole]) => whole).join(", ") === filter;
  if (!isUnderstood) return `plants with ${filter}`;
  return `plants with ${parts.map(([, name = "", value = ""]) => describeFilterPart(name, value)).join(", ")}`;
}

// A text is in quotes, with backslashes as in JSON; an id and a time are numbers.
const filterPart = /(\w+) ("(?:[^"\\]|\\.)*"|-?\d+)/gsu;

function describeFilterPart(name: string, value: string): string {
  switch (name) {
    case "namePart":
      return `${value} in their name`;
    case "createdBy":
      return `creator ${value}`;
    case "sinceMs":
      return `time from ${formatMinute(new Date(Number(value)).toISOString())}`;
    case "untilMs":
      return `time before ${formatMinute(new Date(Number(value)).toISOString())}`;
    default:
      return `${name} ${value}`;
  }
}
