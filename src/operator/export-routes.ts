import type { Gate } from "../access/gate.ts";
import { exportFormatNames } from "../files/export-formats.ts";
import { HttpError } from "../http/http-error.ts";
import type { Route } from "../http/route.ts";
import type { Exports, RequestedExport } from "./exports.ts";
import { filterParameters, readBody, readChoice, readFilter, readQuery, type Values } from "./parameters.ts";

interface Parts {
  readonly exports: Exports;
  readonly gate: Gate;
}

const parameters = ["format", ...filterParameters];

export const exportPlants: Route<Parts> = {
  method: "GET",
  path: "/api/export",
  scope: "operator:read",
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
  handler: (parts) => async (exchange, caller) => {
    const isAllowed = parts.gate.watch(exchange.header("authorization"), "operator:read");
    const requested = readExport(await readBody(exchange, parameters));
    const secret = parts.exports.links.create({ ...requested, caller, isAllowed });
    exchange.json({ url: `/api/exports/${secret}` }, 201);
  },
};

export const followExportLink: Route<Parts> = {
  method: "GET",
  path: "/api/exports/{secret}",
  scope: "none",
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
