import { parseId, presentPlant } from "../files/plant-json.ts";
import { Refusal } from "../http/refusal.ts";
import { json } from "../http/reply.ts";
import type { FollowPage, PlantArchive, PlantPage } from "../plants/plant-archive.ts";
import { countFrom, oneOf } from "../text/parsers.ts";
import { isoTime } from "../text/time.ts";
import type { ActionRecorder } from "./action-recorder.ts";
import type { ApiRequest } from "./api-route.ts";
import {
  describeFilter,
  filterOf,
  filterParameters,
  orRefusal,
  parseText,
  required,
  wrongParameter,
} from "./parameters.ts";

const limitDefault = 50;
const limitMax = 1000;
// A search or a count returns what it has found after this long, and the caller continues from there.
const searchMsMax = 400;

export const listParameters = {
  ...filterParameters,
  limit: countFrom(1, limitMax),
  cursor: parseText,
  order: oneOf(["newest", "oldest"]),
  after: parseText,
};
export const countParameters = { ...filterParameters, cursor: parseText };
export const plantParameters = { id: required(parseId) };

/** Lists, counts and shows plants. */
export function plantHandlers(archive: PlantArchive, actions: ActionRecorder) {
  return {
    /**
     * `after` asks for what was stored after that cursor, the oldest first. A page may be short, or even empty, and still not be the
     * last: then it has a `next`, or with `after` it has `more`.
     */
    list: async ({ exchange, caller, values }: ApiRequest<typeof listParameters>) => {
      const { after, order, cursor, limit = limitDefault } = values;
      const filter = filterOf(values);
      if (after === undefined) {
        const oldestOrNewest = order === "oldest" ? "oldest-first" : "newest-first";
        const request = { filter, order: oldestOrNewest, cursor, limit, searchMsMax } as const;
        return json(presentPage(await orRefusal(archive.page(request))));
      }
      if (cursor !== undefined || order !== undefined)
        throw wrongParameter(
          'Parameter "after" lists the oldest first: send no "cursor" and no "order" with it.',
        );
      const page = await orRefusal(archive.pageAfter({ after, filter, limit, searchMsMax }));
      // A program that starts at the beginning wants every plant, as an export has it.
      if (page.isFromBeginning && exchange.method !== "HEAD")
        await actions.record(exchange, caller, "follow.started", "plants", describeFilter(filter));
      return json(presentFollowPage(page));
    },

    /** A count with `next` is one part of it: the caller adds up the parts until one has none. */
    count: async ({ values }: ApiRequest<typeof countParameters>) => {
      // Both start at once, so that on SQLite no other read comes between them.
      const reads = Promise.all([
        archive.page({ filter: {}, order: "newest-first", cursor: undefined, limit: 1, searchMsMax }),
        archive.count(filterOf(values), values.cursor, searchMsMax),
      ]);
      const [{ plants: newest }, { plants, next }] = await orRefusal(reads);
      // The time of the newest plant when it was counted: younger ones are not in the count.
      return json({ plants: String(plants), next, newestAt: isoTime(newest[0]?.createdAtMs) });
    },

    show: async ({ values: { id } }: ApiRequest<typeof plantParameters>) => {
      const [plant] = await archive.findAll([id]);
      if (plant === undefined) throw new Refusal("no-such-plant", `No plant has the id ${id}.`);
      return json(presentPlant(plant));
    },
  };
}

function presentPage({ plants, next, searched }: PlantPage) {
  return { plants: plants.map(presentPlant), next, searched };
}

/** With `after`, a plant has the cursor to go on with after it. */
export type FollowPageJson = ReturnType<typeof presentFollowPage>;

function presentFollowPage(page: FollowPage) {
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
