import type { Caller, Gate } from "../access/gate.ts";
import { type ExportFormat, exportFormatNames, exportFormats } from "../files/export-formats.ts";
import type { Exchange } from "../http/exchange.ts";
import { type Route, route } from "../http/route.ts";
import { type PlantArchive, type PlantFilter, type PlantPage, pagesOf } from "../plants/plant-archive.ts";
import type { ActionRecorder } from "./audit.ts";
import { ConcurrencyLimit } from "./concurrency-limit.ts";
import { type Download, Downloads, sendFile } from "./downloads.ts";
import {
  filterParameters,
  filterText,
  readBody,
  readChoice,
  readFilter,
  readQuery,
  type Values,
} from "./parameters.ts";
import type { DownloadLinkJson } from "./responses.ts";

const exportParameters = ["format", ...filterParameters];
const rowsPerPage = 1000;
const exportsMax = 8;
// A client must read each piece in time.
const pieceCharacters = 262_144;

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
      exchange.json({ url: `/api/exports/${secret}` } satisfies DownloadLinkJson, 201);
    }),

    route("GET", "/api/exports/{secret}", "none", (exchange) => {
      const { caller } = downloads.find(exchange);
      return send(exchange, caller, () => downloads.follow(exchange));
    }),
  ];
}

/** Which plants are exported, and how. */
interface Export {
  readonly format: (typeof exportFormatNames)[number];
  readonly filter: PlantFilter;
}

function readExport(values: Values): Export {
  return { format: readChoice(values, "format", exportFormatNames) ?? "ndjson", filter: readFilter(values) };
}

/** The file in pieces, each of about `pieceCharacters` or one page. */
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
