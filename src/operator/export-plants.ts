import type { Gate } from "../access/gate.ts";
import type { Route } from "../http/route.ts";
import { type Exports, exportContent, formatParameter, readExport } from "./exports.ts";
import { filterParameters, readQuery } from "./parameters.ts";

const parameters = [formatParameter, ...filterParameters];

export const exportPlants: Route<{ readonly exports: Exports; readonly gate: Gate }> = {
  method: "GET",
  path: "/api/export",
  scope: "operator:read",
  operation: {
    operationId: "exportPlants",
    tags: ["plants"],
    summary: "Streams plants, the oldest first, in a format that import accepts.",
    parameters,
    success: { status: 200, description: "A row for each plant.", content: exportContent },
  },
  handler:
    ({ exports, gate }) =>
    (exchange, caller) => {
      const isAllowed = gate.watch(exchange.header("authorization"), "operator:read");
      return exports.send(exchange, readExport(readQuery(exchange.query, parameters), caller, isAllowed));
    },
};
