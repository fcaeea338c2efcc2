import { presentPlant } from "../files/present-plant.ts";
import { HttpError } from "../http/http-error.ts";
import { jsonContent } from "../http/openapi.ts";
import type { Route } from "../http/route.ts";
import type { PlantArchive } from "../plants/plant-archive.ts";
import { pathParameter, readId } from "./parameters.ts";

export const showPlant: Route<{ readonly archive: PlantArchive }> = {
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
  handler:
    ({ archive }) =>
    async (exchange) => {
      const id = readId(exchange.parameter);
      const plant = id === undefined ? undefined : await archive.find(id);
      if (plant === undefined)
        throw new HttpError("no-such-plant", `No plant has the id ${exchange.parameter}.`);
      exchange.json(presentPlant(plant));
    },
};
