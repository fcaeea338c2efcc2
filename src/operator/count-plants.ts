import { HttpError } from "../http/http-error.ts";
import { jsonContent } from "../http/openapi.ts";
import type { Parameter, Route } from "../http/route.ts";
import { CursorProblem, type PlantArchive } from "../plants/plant-archive.ts";
import { filterParameters, readFilter, readQuery, readText, textParameter } from "./parameters.ts";

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
      try {
        const { plants, next } = await archive.count(
          readFilter(values),
          readText(values, "cursor"),
          countMsMax,
        );
        exchange.json({ plants: String(plants), next });
      } catch (error) {
        if (error instanceof CursorProblem) throw new HttpError("wrong-parameter", error.message);
        throw error;
      }
    },
};
