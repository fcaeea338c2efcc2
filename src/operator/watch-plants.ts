import type { Gate } from "../access/gate.ts";
import type { Route } from "../http/route.ts";
import type { PlantArchive } from "../plants/plant-archive.ts";
import { Feed } from "./feed.ts";

export interface WatchParts {
  readonly archive: PlantArchive;
  readonly gate: Gate;
}

export const watchPlants: Route<WatchParts> = {
  method: "GET",
  path: "/api/feed",
  scope: "operator:read",
  operation: {
    operationId: "watchPlants",
    tags: ["plants"],
    summary: "Sends new plants as they are stored.",
    description: "Server-sent events named `plants`; the data of each is a NewPlants object.",
    success: {
      status: 200,
      description: "Events, until either side ends the response.",
      content: { "text/event-stream": { schema: { $ref: "#/components/schemas/NewPlants" } } },
    },
    errors: ["too-busy"],
  },
  handler({ archive, gate }) {
    const feed = new Feed(archive);
    return (exchange) => feed.watch(exchange, gate.watch(exchange.header("authorization"), "operator:read"));
  },
};
