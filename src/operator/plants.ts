import { presentPlant } from "../files/present-plant.ts";
import { HttpError } from "../http/http-error.ts";
import { jsonContent } from "../http/openapi.ts";
import type { Parameter, Route } from "../http/route.ts";
import type { PlantArchive } from "../plants/plant-archive.ts";
import {
  countParameter,
  filterParameters,
  orWrongParameter,
  pathParameter,
  readChoice,
  readCount,
  readFilter,
  readId,
  readQuery,
  readText,
  textParameter,
} from "./parameters.ts";

interface Parts {
  readonly archive: PlantArchive;
}

const limitDefault = 50;
const limitMax = 1000;
// A search or a count returns what it has found after this long, and the caller continues from there.
const searchMsMax = 400;
const countMsMax = 800;

const listParameters: readonly Parameter[] = [
  ...filterParameters,
  countParameter("limit", "Plants on a page.", limitMax, { default: limitDefault }),
  textParameter("cursor", "The `next` of the page before."),
  textParameter("order", "Which come first.", { enum: ["newest", "oldest"], default: "newest" }),
];
const countParameters: readonly Parameter[] = [
  ...filterParameters,
  textParameter("cursor", "The `next` of the count before."),
];

export const listPlants: Route<Parts> = {
  method: "GET",
  path: "/api/plants",
  scope: "operator:read",
  operation: {
    operationId: "listPlants",
    tags: ["plants"],
    summary: "Lists plants, the newest first.",
    description:
      "A page may be short, or even empty, and still have `next`: a search returns what it found in half a second.",
    parameters: listParameters,
    success: { status: 200, description: "A page of plants.", content: jsonContent("PlantPage") },
  },
  handler: (parts) => async (exchange) => {
    const values = readQuery(exchange.query, listParameters);
    const order = readChoice(values, "order", ["newest", "oldest"]) ?? "newest";
    const request = {
      filter: readFilter(values),
      order: order === "newest" ? ("newest-first" as const) : ("oldest-first" as const),
      cursor: readText(values, "cursor"),
      limit: readCount(values, "limit", limitDefault, limitMax),
      searchMsMax,
    };
    const { plants, next, searched } = await orWrongParameter(parts.archive.page(request));
    exchange.json({ plants: plants.map(presentPlant), next, searched });
  },
};

export const countPlants: Route<Parts> = {
  method: "GET",
  path: "/api/plants/count",
  scope: "operator:read",
  operation: {
    operationId: "countPlants",
    tags: ["plants"],
    summary: "Counts the plants that match.",
    description:
      "A count takes about a second at most. Where it has `next`, there is more to count: add up the counts until one has none.",
    parameters: countParameters,
    success: { status: 200, description: "How many were found.", content: jsonContent("MatchCount") },
  },
  handler: (parts) => async (exchange) => {
    const values = readQuery(exchange.query, countParameters);
    const counting = parts.archive.count(readFilter(values), readText(values, "cursor"), countMsMax);
    const { plants, next } = await orWrongParameter(counting);
    exchange.json({ plants: String(plants), next });
  },
};

export const showPlant: Route<Parts> = {
  method: "GET",
  path: "/api/plants/{id}",
  scope: "operator:read",
  operation: {
    operationId: "showPlant",
    tags: ["plants"],
    summary: "Shows one plant.",
    parameters: [pathParameter("id", "The plant's id, a decimal int64.")],
    success: { status: 200, description: "The plant.", content: jsonContent("StoredPlant") },
    errors: ["no-such-plant"],
  },
  handler: (parts) => async (exchange) => {
    const id = readId(exchange.parameter);
    const plant = id === undefined ? undefined : await parts.archive.find(id);
    if (plant === undefined)
      throw new HttpError("no-such-plant", `No plant has the id ${exchange.parameter}.`);
    exchange.json(presentPlant(plant));
  },
};
