import { jsonContent } from "../http/openapi.ts";
import type { Parameter, Route } from "../http/route.ts";
import type { PlantArchive } from "../plants/plant-archive.ts";
import {
  filterParameters,
  orWrongParameter,
  readFilter,
  readQuery,
  readText,
  textParameter,
} from "./parameters.ts";

// A count returns what it has after so long, and the caller continues from there.
const countMsMax = 800;

const parameters: readonly Parameter[] = [
  ...filterParameters,
  textParameter("cursor", "The `next` of the count before."),
];

export const countPlants: Route<{ readonly archive: PlantArchive }> = {
  method: "GET",
  path: "/api/plants/count",
  scope: "operator:read",
  operation: {
    operationId: "countPlants",
    tags: ["plants"],
    summary: "Counts the plants that match.",
    description:
      "A count takes about a second at most. Where it has `next`, there is more to count: add up the counts until one has none.",
    parameters,
    success: { status: 200, description: "How many were found.", content: jsonContent("MatchCount") },
  },
  handler:
    ({ archive }) =>
    async (exchange) => {
      const values = readQuery(exchange.query, parameters);
      const counting = archive.count(readFilter(values), readText(values, "cursor"), countMsMax);
      const { plants, next } = await orWrongParameter(counting);
      exchange.json({ plants: String(plants), next });
    },
};
