import { presentPlant } from "../files/present-plant.ts";
import { HttpError } from "../http/http-error.ts";
import type { Route } from "../http/route.ts";
import type { PlantArchive } from "../plants/plant-archive.ts";
import {
  filterParameters,
  orWrongParameter,
  readChoice,
  readCount,
  readFilter,
  readId,
  readQuery,
  readText,
} from "./parameters.ts";

interface Parts {
  readonly archive: PlantArchive;
}

const limitDefault = 50;
const limitMax = 1000;
// A search or a count returns what it has found after this long, and the caller continues from there.
const searchMsMax = 400;
const countMsMax = 800;

/** A page may be short, or even empty, and still have `next`. */
export const listPlants: Route<Parts> = {
  method: "GET",
  path: "/api/plants",
  scope: "operator:read",
  handler: (parts) => async (exchange) => {
    const values = readQuery(exchange.query, [...filterParameters, "limit", "cursor", "order"]);
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

/** A count with `next` is one part of it: the caller adds up the parts until one has none. */
export const countPlants: Route<Parts> = {
  method: "GET",
  path: "/api/plants/count",
  scope: "operator:read",
  handler: (parts) => async (exchange) => {
    const values = readQuery(exchange.query, [...filterParameters, "cursor"]);
    const counting = parts.archive.count(readFilter(values), readText(values, "cursor"), countMsMax);
    const { plants, next } = await orWrongParameter(counting);
    exchange.json({ plants: String(plants), next });
  },
};

export const showPlant: Route<Parts> = {
  method: "GET",
  path: "/api/plants/{id}",
  scope: "operator:read",
  handler: (parts) => async (exchange) => {
    const id = readId(exchange.parameter);
    const plant = id === undefined ? undefined : await parts.archive.find(id);
    if (plant === undefined)
      throw new HttpError("no-such-plant", `No plant has the id ${exchange.parameter}.`);
    exchange.json(presentPlant(plant));
  },
};
