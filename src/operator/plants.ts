import { parseId, presentPlant } from "../files/plant-json.ts";
import { Refusal } from "../http/refusal.ts";
import { json } from "../http/reply.ts";
import {
  type FollowPage,
  type PlantArchive,
  type PlantPage,
  StaleCursor,
  type StoredPlant,
} from "../plants/plant-archive.ts";
import { countFrom, oneOf } from "../text/parsers.ts";
import { isoTime } from "../text/time.ts";
import type { ActionRecorder } from "./action-recorder.ts";
import type { ApiRequest } from "./api-route.ts";
import {
  describeFilter,
  filterOf,
  filterParameters,
  orWrongParameter,
  parseText,
  required,
  type Values,
  wrongParameter,
} from "./parameters.ts";
import type { FollowPageJson, PlantCountJson, PlantPageJson } from "./responses.ts";

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

type ListValues = Values<typeof listParameters>;

/** Lists, counts and shows plants. */
export class Plants {
  readonly #archive: PlantArchive;
  readonly #actions: ActionRecorder;

  constructor(archive: PlantArchive, actions: ActionRecorder) {
    this.#archive = archive;
    this.#actions = actions;
  }

  /**
   * `after` asks for what was stored after that cursor, the oldest first. A page may be short, or even empty, and still not be the
   * last: then it has a `next`, or with `after` it has `more`.
   */
  readonly list = async ({ exchange, caller, values }: ApiRequest<typeof listParameters>) => {
    const { after } = values;
    if (after === undefined) return presentPage(await orWrongParameter(this.#listPage(values)));
    const page = await orWrongParameter(this.#followPage(after, values));
    // A program that starts at the beginning wants every plant, as an export has it.
    if (page.isFromBeginning && exchange.method !== "HEAD") {
      const detail = describeFilter(filterOf(values));
      await this.#actions.record(exchange, caller, "follow.started", "plants", detail);
    }
    return presentFollowPage(page);
  };

  /** A count with `next` is one part of it: the caller adds up the parts until one has none. */
  readonly count = async ({ values }: ApiRequest<typeof countParameters>) => {
    // Both start at once, so that on SQLite no other read comes between them.
    const reads = Promise.all([
      this.#newest(),
      this.#archive.count(filterOf(values), values.cursor, searchMsMax),
    ]);
    const [newest, { plants, next }] = await orWrongParameter(reads);
    return json<PlantCountJson>({ plants: String(plants), next, newestAt: isoTime(newest?.createdAtMs) });
  };

  readonly show = async ({ values: { id } }: ApiRequest<typeof plantParameters>) => {
    const plant = await this.#archive.find(id);
    if (plant === undefined) throw new Refusal("no-such-plant", `No plant has the id ${id}.`);
    return json(presentPlant(plant));
  };

  #listPage(values: ListValues): Promise<PlantPage> {
    const { order, cursor, limit = limitDefault } = values;
    return this.#archive.page({
      filter: filterOf(values),
      order: order === "oldest" ? "oldest-first" : "newest-first",
      cursor,
      limit,
      searchMsMax,
    });
  }

  async #followPage(after: string, values: ListValues): Promise<FollowPage> {
    const { order, cursor, limit = limitDefault } = values;
    if (cursor !== undefined || order !== undefined)
      throw wrongParameter(
        'Parameter "after" lists the oldest first: send no "cursor" and no "order" with it.',
      );
    try {
      return await this.#archive.pageAfter({ after, filter: filterOf(values), limit, searchMsMax });
    } catch (error) {
      throw error instanceof StaleCursor ? new Refusal("stale-cursor") : error;
    }
  }

  async #newest(): Promise<StoredPlant | undefined> {
    const { plants } = await this.#archive.page({
      filter: {},
      order: "newest-first",
      cursor: undefined,
      limit: 1,
      searchMsMax,
    });
    return plants[0];
  }
}

function presentPage({ plants, next, searched }: PlantPage) {
  return json<PlantPageJson>({ plants: plants.map(presentPlant), next, searched });
}

function presentFollowPage(page: FollowPage) {
  const { plants, next, hasMore, searched, nowMs, completeToMs, waitingSinceMs } = page;
  return json<FollowPageJson>({
    plants: plants.map((plant) => ({ ...presentPlant(plant), cursor: plant.cursor })),
    next,
    more: hasMore,
    now: isoTime(nowMs),
    completeTo: isoTime(completeToMs),
    waitingSince: isoTime(waitingSinceMs),
    searched,
  });
}
