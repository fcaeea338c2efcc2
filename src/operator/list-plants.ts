import { presentPlant } from "../files/present-plant.ts";
import { jsonContent } from "../http/openapi.ts";
import type { Parameter, Route } from "../http/route.ts";
import type { PlantArchive } from "../plants/plant-archive.ts";
import {
  filterParameters,
  orWrongParameter,
  readChoice,
  readCount,
  readFilter,
  readQuery,
  readText,
  textParameter,
} from "./parameters.ts";

const limitDefault = 50;
const limitMax = 1000;
// A search returns what it has found after so long, and the caller continues from there.
const searchMsMax = 400;

const parameters: readonly Parameter[] = [
  ...filterParameters,
  {
    name: "limit",
    in: "query",
    description: "Plants on a page.",
    schema: { type: "integer", minimum: 1, maximum: limitMax, default: limitDefault },
  },
  textParameter("cursor", "The `next` of the page before."),
  textParameter("order", "Which come first.", { enum: ["newest", "oldest"], default: "newest" }),
];

export const listPlants: Route<{ readonly archive: PlantArchive }> = {
  method: "GET",
  path: "/api/plants",
  scope: "operator:read",
  operation: {
    operationId: "listPlants",
    tags: ["plants"],
    summary: "Lists plants, the newest first.",
    description:
      "A page may be short, or even empty, and still have `next`: a search returns what it found in half a second.",
    parameters,
    success: { status: 200, description: "A page of plants.", content: jsonContent("PlantPage") },
  },
  handler:
    ({ archive }) =>
    async (exchange) => {
      const values = readQuery(exchange.query, parameters);
      const order = readChoice(values, "order", ["newest", "oldest"]) ?? "newest";
      const request = {
        filter: readFilter(values),
        order: order === "newest" ? ("newest-first" as const) : ("oldest-first" as const),
        cursor: readText(values, "cursor"),
        limit: readCount(values, "limit", limitDefault, limitMax),
        searchMsMax,
      };
      const { plants, next, searched } = await orWrongParameter(archive.page(request));
      exchange.json({ plants: plants.map(presentPlant), next, searched });
    },
};
