import type { Gate } from "../access/gate.ts";
import { jsonContent } from "../http/openapi.ts";
import type { Route } from "../http/route.ts";
import { type Exports, readExport } from "./exports.ts";
import { readBody } from "./parameters.ts";
import { schemas } from "./schemas.ts";

/** A browser sends no token with a download, so it gets a link that needs none. */
export const createExportLink: Route<{ readonly exports: Exports; readonly gate: Gate }> = {
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
  handler:
    ({ exports, gate }) =>
    async (exchange, caller) => {
      const isAllowed = gate.watch(exchange.header("authorization"), "operator:read");
      const requested = readExport(await readBody(exchange, schemas.ExportRequest), caller, isAllowed);
      exchange.json({ url: `/api/exports/${exports.createLink(requested)}` }, 201);
    },
};
