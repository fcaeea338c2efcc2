import type { Caller, Gate } from "../access/gate.ts";
import {
  type ExportFormat,
  exportFormatNames,
  exportFormats,
  presentPlant,
} from "../files/export-formats.ts";
import type { Exchange } from "../http/exchange.ts";
import { HttpError } from "../http/http-error.ts";
import { type Route, route } from "../http/route.ts";
import {
  type FollowPage,
  type PlantArchive,
  type PlantFilter,
  type PlantPage,
  pagesOf,
  StaleCursor,
} from "../plants/plant-archive.ts";
import type { ActionRecorder } from "./audit.ts";
import { ConcurrencyLimit } from "./concurrency-limit.ts";
import { type Download, Downloads, sendFile } from "./downloads.ts";
import {
  filterParameters,
  filterText,
  orWrongParameter,
  readBody,
  readChoice,
  readCount,
  readFilter,
  readId,
  readQuery,
  readText,
  type Values,
  wrong,
} from "./parameters.ts";

const limitDefault = 50;
const limitMax = 1000;
// A search or a count returns what it has found after this long, and the caller continues from there.
const searchMsMax = 400;

const exportParameters = ["format", ...filterParameters];
const rowsPerPage = 1000;
const exportsMax = 8;
// A client must read each piece in time.
const pieceCharacters = 262_144;

/** Lists, counts and shows plants. */
export function plantRoutes(archive: PlantArchive, actions: ActionRecorder): readonly Route[] {
  return [
    // With `after`: what was stored after that cursor, the oldest first. A page may be short, or even empty, and still not be
    // the last: then it has a `next`, or with `after` one that is not `newest`.
    route("GET", "/api/plants", "operator:read", async (exchange, caller) => {
      const values = readQuery(exchange.query, [...filterParameters, "limit", "cursor", "order", "after"]);
      const after = readText(values, "after");
      if (after === undefined) return sendPage(exchange, await orWrongParameter(listPage(archive, values)));
      const page = await orWrongParameter(followPage(archive, after, values));
      // A program that starts at the beginning wants every plant, as an export has it.
      if (page.fromBeginning && exchange.method !== "HEAD")
        await actions.record(exchange, caller, "follow.started", "plants", filterText(readFilter(values)));
      sendPage(exchange, page);
    }),

    // A count with `next` is one part of it: the caller adds up the parts until one has none.
    route("GET", "/api/plants/count", "operator:read", async (exchange) => {
      const values = readQuery(exchange.query, [...filterParameters, "cursor"]);
      const counting = archive.count(readFilter(values), readText(values, "cursor"), searchMsMax);
      const { plants, next } = await orWrongParameter(counting);
      exchange.json({ plants: String(plants), next });
    }),

    route("GET", "/api/plants/{id}", "operator:read", async (exchange) => {
      const plant = await archive.find(readId(exchange.parameter));
      if (plant === undefined)
        throw new HttpError("no-such-plant", `No plant has the id ${exchange.parameter}.`);
      exchange.json(presentPlant(plant));
    }),
  ];
}

/**
 * Exports plants, by a token or by a link for the browser. Each is a stream of pages: never more than one page of it is in
 * memory.
 */
export function exportRoutes(archive: PlantArchive, actions: ActionRecorder, gate: Gate): readonly Route[] {
  const downloads = new Downloads<Export>(gate, "operator:read");
  const running = new ConcurrencyLimit("exports", exportsMax);
  const send = async (exchange: Exchange, caller: Caller, start: () => Download<Export>): Promise<void> => {
    exchange.refuseWhileDraining();
    using _running = running.start(caller);
    // Only now: a link works once, and not at all if too many exports are running.
    const download = start();
    const { format, filter } = download.target;
    const detail = [format, filterText(filter)].filter((part) => part !== "").join(", ");
    // Before the first row is sent.
    if (exchange.method !== "HEAD")
      await actions.record(exchange, caller, "export.started", "plants", detail);
    const { contentType, extension } = exportFormats[format];
    const name = `plants-${new Date().toISOString().slice(0, 10)}.${extension}`;
    const pages = pagesOf(archive, filter, rowsPerPage);
    await sendFile(exchange, download, { name, contentType }, formatPages(pages, exportFormats[format]));
  };
  return [
    route("GET", "/api/export", "operator:read", (exchange, caller) => {
      const requested = readExport(readQuery(exchange.query, exportParameters));
      return send(exchange, caller, () => downloads.start(exchange, caller, requested));
    }),
    route("POST", "/api/exports", "operator:read", async (exchange, caller) => {
      const requested = readExport(await readBody(exchange, exportParameters));
      const secret = downloads.createLink(exchange, caller, requested);
      exchange.json({ url: `/api/exports/${secret}` }, 201);
    }),
    route("GET", "/api/exports/{secret}", "none", (exchange) => {
      const { caller } = downloads.find(exchange);
      return send(exchange, caller, () => downloads.follow(exchange));
    }),
  ];
}

async function listPage(archive: PlantArchive, values: Values): Promise<PlantPage> {
  const order = readChoice(values, "order", ["newest", "oldest"]);
  return archive.page({
    filter: readFilter(values),
    order: order === "oldest" ? "oldest-first" : "newest-first",
    cursor: readText(values, "cursor"),
    limit: readCount(values, "limit", limitDefault, limitMax),
    searchMsMax,
  });
}

async function followPage(archive: PlantArchive, after: string, values: Values): Promise<FollowPage> {
  const filter = readFilter(values);
  const limit = readCount(values, "limit", limitDefault, limitMax);
  if (values["cursor"] !== undefined || values["order"] !== undefined)
    throw wrong('Parameter "after" lists the oldest first: send no "cursor" and no "order" with it.');
  try {
    return await archive.pageAfter({ after, filter, limit, searchMsMax });
  } catch (error) {
    throw error instanceof StaleCursor ? new HttpError("stale-cursor") : error;
  }
}

function sendPage(exchange: Exchange, { plants, next, newest, searched }: PlantPage): void {
  exchange.json({ plants: plants.map(presentPlant), next, newest, searched });
}

interface Export {
  readonly format: (typeof exportFormatNames)[number];
  readonly filter: PlantFilter;
}

function readExport(values: Values): Export {
  return { format: readChoice(values, "format", exportFormatNames) ?? "ndjson", filter: readFilter(values) };
}

async function* formatPages(
  pages: AsyncIterable<PlantPage>,
  { header, row, separator, footer }: ExportFormat,
): AsyncGenerator<string, void, void> {
  let piece = header;
  let before = "";
  for await (const { plants } of pages) {
    for (const plant of plants) {
      piece += before + row(plant);
      before = separator;
      if (piece.length < pieceCharacters) continue;
      yield piece;
      piece = "";
    }
    yield piece;
    piece = "";
  }
  yield piece + footer;
}
