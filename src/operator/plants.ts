import { presentPlant } from "../files/export-formats.ts";
import { HttpError } from "../http/http-error.ts";
import type { Route } from "../http/route.ts";
import { beginning, type PlantArchive, type PlantPage, StaleCursor } from "../plants/plant-archive.ts";
import { type AuditParts, filterText, recordAction } from "./audit.ts";
import {
  filterParameters,
  orWrongParameter,
  readChoice,
  readCount,
  readFilter,
  readId,
  readQuery,
  readText,
  type Values,
  wrong,
} from "./parameters.ts";

interface Parts {
  readonly archive: PlantArchive;
}

const limitDefault = 50;
const limitMax = 1000;
// A search or a count returns what it has found after this long, and the caller continues from there.
const searchMsMax = 400;

/**
 * Lists plants, or with `after` what was stored after that cursor, the oldest first. A page may be short, or even empty, and
 * still not be the last: then it has a `next`, or with `after` one that is not `newest`. A program that starts at the beginning
 * wants every plant, so the audit trail has an entry before it gets the first.
 */
export const listPlants: Route<Parts & AuditParts> = {
  method: "GET",
  path: "/api/plants",
  scope: "operator:read",
  handler: (parts) => async (exchange, caller) => {
    const values = readQuery(exchange.query, [...filterParameters, "limit", "cursor", "order", "after"]);
    const { plants, next, newest, searched } = await orWrongParameter(readPage(parts.archive, values));
    if (values["after"] === beginning && exchange.method !== "HEAD") {
      const detail = filterText(readFilter(values));
      await recordAction(parts.audit, exchange, caller, {
        action: "follow.started",
        subject: "plants",
        detail,
      });
    }
    exchange.json({ plants: plants.map(presentPlant), next, newest, searched });
  },
};

/** A count with `next` is one part of it: the caller adds up the parts until one has none. */
export const countPlants: Route<Parts> = {
  method: "GET",
  path: "/api/plants/count",
  scope: "operator:read",
  handler: (parts) => async (exchange) => {
    const values = readQuery(exchange.query, [...filterParameters, "cursor"]);
    const counting = parts.archive.count(readFilter(values), readText(values, "cursor"), searchMsMax);
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

async function readPage(archive: PlantArchive, values: Values): Promise<PlantPage> {
  const order = readChoice(values, "order", ["newest", "oldest"]);
  const cursor = readText(values, "cursor");
  const after = readText(values, "after");
  const filter = readFilter(values);
  const limit = readCount(values, "limit", limitDefault, limitMax);
  if (after === undefined)
    return archive.page({
      ...{ filter, cursor, limit, searchMsMax },
      order: order === "oldest" ? "oldest-first" : "newest-first",
    });
  if (cursor !== undefined || order !== undefined)
    throw wrong('Parameter "after" lists the oldest first: send no "cursor" and no "order" with it.');
  try {
    return await archive.pageAfter({ after, filter, limit, searchMsMax });
  } catch (error) {
    throw error instanceof StaleCursor ? new HttpError("stale-cursor") : error;
  }
}
