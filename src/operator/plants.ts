import { presentPlant } from "../files/plant-json.ts";
import { HttpError } from "../http/http-error.ts";
import { type Route, route } from "../http/route.ts";
import {
  type FollowPage,
  type PlantArchive,
  type PlantPage,
  StaleCursor,
  type StoredPlant,
} from "../plants/plant-archive.ts";
import { isoTime } from "../text/time.ts";
import type { ActionRecorder } from "./action-recorder.ts";
import {
  describeFilter,
  filterParameters,
  orWrongParameter,
  parseIdParameter,
  readChoice,
  readCount,
  readPlantFilter,
  readQuery,
  readText,
  type SentValues,
  wrongRequestError,
} from "./parameters.ts";
import type { FollowPageJson, PlantCountJson, PlantPageJson } from "./responses.ts";

const limitDefault = 50;
const limitMax = 1000;
// A search or a count returns what it has found after this long, and the caller continues from there.
const searchMsMax = 400;

/** Lists, counts and shows plants. */
export function plantRoutes(archive: PlantArchive, actions: ActionRecorder): readonly Route[] {
  return [
    // `after` asks for what was stored after that cursor, the oldest first. A page may be short, or even empty, and still not be
    // the last: then it has a `next`, or with `after` it has `more`.
    route("GET", "/api/plants", "operator:read", async (exchange, caller) => {
      const values = readQuery(exchange.query, [...filterParameters, "limit", "cursor", "order", "after"]);
      const after = readText(values, "after");
      if (after === undefined)
        return exchange.respondJson(presentPage(await orWrongParameter(listPage(archive, values))));
      const page = await orWrongParameter(followPage(archive, after, values));
      // A program that starts at the beginning wants every plant, as an export has it.
      if (page.isFromBeginning && exchange.method !== "HEAD")
        await actions.record(
          exchange,
          caller,
          "follow.started",
          "plants",
          describeFilter(readPlantFilter(values)),
        );
      exchange.respondJson(presentFollowPage(page));
    }),

    // A count with `next` is one part of it: the caller adds up the parts until one has none.
    route("GET", "/api/plants/count", "operator:read", async (exchange) => {
      const values = readQuery(exchange.query, [...filterParameters, "cursor"]);
      const filter = readPlantFilter(values);
      const cursor = readText(values, "cursor");
      // Both start at once, so that on SQLite no other read comes between them.
      const reads = Promise.all([readNewest(archive), archive.count(filter, cursor, searchMsMax)]);
      const [newest, { plants, next }] = await orWrongParameter(reads);
      const newestAt = isoTime(newest?.createdAtMs);
      exchange.respondJson({ plants: String(plants), next, newestAt } satisfies PlantCountJson);
    }),

    route("GET", "/api/plants/{id}", "operator:read", async (exchange) => {
      const plant = await archive.find(parseIdParameter(exchange.parameter));
      if (plant === undefined)
        throw new HttpError("no-such-plant", `No plant has the id ${exchange.parameter}.`);
      exchange.respondJson(presentPlant(plant));
    }),
  ];
}

async function readNewest(archive: PlantArchive): Promise<StoredPlant | undefined> {
  const { plants } = await archive.page({
    filter: {},
    order: "newest-first",
    cursor: undefined,
    limit: 1,
    searchMsMax,
  });
  return plants[0];
}

async function listPage(archive: PlantArchive, values: SentValues): Promise<PlantPage> {
  const order = readChoice(values, "order", ["newest", "oldest"]);
  return archive.page({
    filter: readPlantFilter(values),
    order: order === "oldest" ? "oldest-first" : "newest-first",
    cursor: readText(values, "cursor"),
    limit: readCount(values, "limit", limitDefault, limitMax),
    searchMsMax,
  });
}

async function followPage(archive: PlantArchive, after: string, values: SentValues): Promise<FollowPage> {
  const filter = readPlantFilter(values);
  const limit = readCount(values, "limit", limitDefault, limitMax);
  if (values.byName["cursor"] !== undefined || values.byName["order"] !== undefined)
    throw wrongRequestError(
      'Parameter "after" lists the oldest first: send no "cursor" and no "order" with it.',
    );
  try {
    return await archive.pageAfter({ after, filter, limit, searchMsMax });
  } catch (error) {
    throw error instanceof StaleCursor ? new HttpError("stale-cursor") : error;
  }
}

function presentPage({ plants, next, searched }: PlantPage): PlantPageJson {
  return { plants: plants.map(presentPlant), next, searched };
}

function presentFollowPage(page: FollowPage): FollowPageJson {
  const { plants, next, hasMore, searched, nowMs, completeToMs, waitingSinceMs } = page;
  return {
    plants: plants.map((plant) => ({ ...presentPlant(plant), cursor: plant.cursor })),
    next,
    more: hasMore,
    now: isoTime(nowMs),
    completeTo: isoTime(completeToMs),
    waitingSince: isoTime(waitingSinceMs),
    searched,
  };
}
