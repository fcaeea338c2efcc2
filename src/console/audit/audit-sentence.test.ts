import { expect, test } from "bun:test";
import type { AuditEntryJson } from "../../operator/responses.ts";
import { formatMinute } from "../format.ts";
import { describeAuditEntry } from "./audit-sentence.ts";

const at = "2026-11-15T08:00:00.500Z";
const later = "2027-02-15T08:41:00Z";
type AuditAction = AuditEntryJson["action"];

test("an entry has a sentence that says what its detail means", () => {
  const sentences: [action: string, subject: string, detail: string, sentence: string][] = [
    [
      "token.created",
      "gh",
      "ab12: metrics; never expires",
      "created token gh with metrics; it never expires",
    ],
    [
      "token.rotated",
      "gh",
      `ab12: metrics; never expires; replaces cd34, ef56, valid until ${later}`,
      `rotated token gh; the old secret works until ${formatMinute(later)}`,
    ],
    [
      "token.rotated",
      "gh",
      "ab12: metrics; never expires; replaces cd34, valid until 2026-11-15T08:00:00Z",
      "rotated token gh; the old secret stopped working at once",
    ],
    ["console.signed-in", "console", "operator, metrics", "signed in to the console with operator, metrics"],
    [
      "export.started",
      "plants",
      'csv-safe, tag "a, \\"b\\"", namePart "fern", id -5',
      'exported plants with tag "a, \\"b\\"", "fern" in their name, id -5 as CSV for spreadsheets',
    ],
    ["export.started", "plants", 'csv, tag "cut off', 'exported plants with tag "cut off as CSV'],
    [
      "follow.started",
      "plants",
      `createdBy "gh", sinceMs ${Date.parse(later)}`,
      `read plants with creator "gh", time from ${formatMinute(later)} from the beginning`,
    ],
    ["plant.pruned", "rose", "hard", "plant.pruned rose hard"],
  ];
  const described = sentences.map(([action, subject, detail]) =>
    describeAuditEntry({
      at,
      actor: "ops",
      action: action as AuditAction,
      subject,
      address: undefined,
      detail,
    }),
  );
  expect(described).toEqual(sentences.map(([, , , sentence]) => sentence));
});
