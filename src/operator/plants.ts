import { presentPlant } from "../files/present-plant.ts";
import type { PlantArchive } from "../plants/plant-archive.ts";
import { CursorProblem } from "../plants/plant-archive.ts";
import { type Answer, json, Refused } from "./call.ts";
import { filterNames, readChoice, readCount, readFilter, readId, readQuery, text } from "./read-filter.ts";

const limitStandard = 50;
const limitMax = 1000;
// A search answers with what it has after so long, and the asker goes on from there.
const searchMsMax = 400;

export function listPlants(archive: PlantArchive): Answer {
  return async ({ query }) => {
    const given = readQuery(query, [...filterNames, "limit", "cursor", "order"]);
    const order = readChoice(given, "order", ["newest", "oldest"]) ?? "newest";
    const request = {
      filter: readFilter(given),
      order: order === "newest" ? ("newest-first" as const) : ("oldest-first" as const),
      cursor: text(given, "cursor"),
      limit: readCount(given, "limit", limitStandard, limitMax),
      searchMsMax,
    };
    try {
      const { plants, next, searched } = await archive.page(request);
      return json({ plants: plants.map(presentPlant), next, searched });
    } catch (error) {
      if (error instanceof CursorProblem) throw new Refused("wrong-parameter", error.message);
      throw error;
    }
  };
}

export function showPlant(archive: PlantArchive): Answer {
  return async ({ named }) => {
    const id = readId(named);
    const plant = id === undefined ? undefined : await archive.find(id);
    if (plant === undefined) throw new Refused("no-such-plant", `No plant has the id ${named}.`);
    return json(presentPlant(plant));
  };
}
