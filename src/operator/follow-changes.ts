import type { Gate } from "../access/gate.ts";
import type { Parameter, Route } from "../http/route.ts";
import { beginning, type Changes } from "./changes.ts";
import { countParameter, readChoice, readCount, readQuery, readText, textParameter } from "./parameters.ts";

const limitMax = 1_000_000;

const parameters: readonly Parameter[] = [
  textParameter("after", "The cursor of the last plant that the client has; 0 is the beginning.", {
    default: beginning,
  }),
  textParameter("follow", "`no` ends the response at the last plant that is stored.", {
    enum: ["yes", "no"],
    default: "yes",
  }),
  countParameter("limit", "The response ends after so many plants. Without it there is no limit.", limitMax),
];

export const followChanges: Route<{ readonly changes: Changes; readonly gate: Gate }> = {
  method: "GET",
  path: "/api/changes",
  scope: "operator:read",
  operation: {
    operationId: "followChanges",
    tags: ["plants"],
    summary: "Streams every plant once, in the order of storing, and then new ones as they are stored.",
    description:
      "Only plants that are on disk, without gaps. Each row has the cursor to resume from. Plain NDJSON, in which an empty line is a heartbeat; or, with `Accept: text/event-stream`, server-sent events whose id is the cursor, so that `Last-Event-ID` takes precedence over `after`.",
    parameters,
    success: {
      status: 200,
      description: "A row for each plant.",
      content: {
        "application/x-ndjson": { schema: { $ref: "#/components/schemas/Change" } },
        "text/event-stream": { schema: { $ref: "#/components/schemas/Change" } },
      },
    },
    errors: ["stale-cursor", "no-change-feed", "too-busy"],
  },
  handler: (parts) => (exchange, caller) => {
    const values = readQuery(exchange.query, parameters);
    const follow = (readChoice(values, "follow", ["yes", "no"]) ?? "yes") === "yes";
    return parts.changes.send(exchange, {
      after: exchange.header("last-event-id") || (readText(values, "after") ?? beginning),
      limit: readCount(values, "limit", Number.POSITIVE_INFINITY, limitMax),
      follow,
      format: /\btext\/event-stream\b/i.test(exchange.header("accept") ?? "") ? "events" : "ndjson",
      caller,
      isAllowed: parts.gate.watch(exchange.header("authorization"), "operator:read"),
    });
  },
};
