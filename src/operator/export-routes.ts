import type { Gate } from "../access/gate.ts";
import { exportFormatNames } from "../files/export-formats.ts";
import { HttpError } from "../http/http-error.ts";
import { jsonContent } from "../http/openapi.ts";
import type { Route } from "../http/route.ts";
import type { Exports, RequestedExport } from "./exports.ts";
import {
  filterParameters,
  pathParameter,
  readBody,
  readChoice,
  readFilter,
  readQuery,
  textParameter,
  type Values,
} from "./parameters.ts";
import { schemas } from "./schemas.ts";

interface Parts {
  readonly exports: Exports;
  readonly gate: Gate;
}

const format = { enum: exportFormatNames, default: "ndjson" };
const parameters = [textParameter("format", "The format of the rows.", format), ...filterParameters];
const success = {
  status: 200,
  description: "A row for each plant.",
  content: {
    "application/x-ndjson": { schema: { type: "string" } },
    "text/csv": { schema: { type: "string" } },
  },
};

export const exportPlants: Route<Parts> = {
  method: "GET",
  path: "/api/export",
  scope: "operator:read",
  operation: {
    operationId: "exportPlants",
    tags: ["plants"],
    summary: "Streams plants, the oldest first, in a format that import accepts.",
    parameters,
    success,
  },
  handler: (parts) => (exchange, caller) => {
    const isAllowed = parts.gate.watch(exchange.header("authorization"), "operator:read");
    const requested = readExport(readQuery(exchange.query, parameters));
    return parts.exports.send(exchange, { ...requested, caller, isAllowed });
  },
};

export const createExportLink: Route<Parts> = {
  method: "POST",
  path: "/api/exports",
  scope: "operator:read",
  operation: {
    operationId: "linkToExport",
    tags: ["plants"],
    summary: "Creates a link by which a browser can download an export once, within a minute.",
    requestBody: { required: false, content: jsonContent("ExportRequest") },
    success: { status: 201, description: "The link.", content: jsonContent("ExportLink") },
    errors: ["too-busy"],
  },
  handler: (parts) => async (exchange, caller) => {
    const isAllowed = parts.gate.watch(exchange.header("authorization"), "operator:read");
    const requested = readExport(await readBody(exchange, schemas.ExportRequest));
    const secret = parts.exports.links.create({ ...requested, caller, isAllowed });
    exchange.json({ url: `/api/exports/${secret}` }, 201);
  },
};

export const followExportLink: Route<Parts> = {
  method: "GET",
  path: "/api/exports/{secret}",
  scope: "none",
  operation: {
    operationId: "followExport",
    tags: ["plants"],
    summary: "Streams the export that the link was created for.",
    parameters: [pathParameter("secret", "From the link.")],
    success,
    errors: ["no-such-path"],
  },
  handler: (parts) => (exchange) => {
    // It would use up the link, and there is nothing to say before the rows.
    if (exchange.method === "HEAD")
      throw new HttpError("no-such-method", "A link to an export supports GET alone.", { Allow: "GET" });
    const requested = parts.exports.links.use(exchange.parameter);
    if (requested === undefined)
      throw new HttpError(
        "no-such-path",
        "This link has been used, or has expired after a minute. Request the export again.",
      );
    // For the log: this request has no token.
    exchange.caller = requested.caller;
    return parts.exports.send(exchange, requested);
  },
};

function readExport(values: Values): Pick<RequestedExport, "format" | "filter"> {
  return {
    format: readChoice(values, "format", exportFormatNames) ?? "ndjson",
    filter: readFilter(values),
  };
}
