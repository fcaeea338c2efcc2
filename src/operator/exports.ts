import type { AuditTrail } from "../access/audit.ts";
import type { Caller } from "../access/gate.ts";
import { type ExportFormat, type exportFormatNames, exportFormats } from "../files/export-formats.ts";
import type { Exchange } from "../http/exchange.ts";
import { HttpError } from "../http/http-error.ts";
import {
  type PlantArchive,
  type PlantFilter,
  type PlantPage,
  pagesOf,
  type StoredPlant,
} from "../plants/plant-archive.ts";
import { filterText, recordAction } from "./audit.ts";
import { downloadLinks } from "./download-links.ts";

/** An export and its caller. */
export interface RequestedExport {
  readonly format: (typeof exportFormatNames)[number];
  readonly filter: PlantFilter;
  /** Who requested it, */
  readonly caller: Caller;
  /** and whether they are still allowed. */
  readonly isAllowed: () => boolean;
}

const rowsPerPage = 1000;
const linksMax = 1000;
const runningMax = 8;
const pieceCharacters = 262_144;

/** Exports as streams of pages: never more than one page of each is in memory. */
export class Exports {
  readonly #archive: PlantArchive;
  readonly #audit: AuditTrail;
  readonly links = downloadLinks<RequestedExport>(linksMax, "exports");
  #running = 0;

  constructor(archive: PlantArchive, audit: AuditTrail) {
    this.#archive = archive;
    this.#audit = audit;
  }

  /** The audit trail has an entry before the first row is sent. */
  async send(exchange: Exchange, requested: RequestedExport): Promise<void> {
    exchange.refuseWhileDraining();
    if (this.#running >= runningMax)
      throw new HttpError(
        "too-busy",
        `${runningMax} exports are already running. Try again when one has finished.`,
      );
    // It counts as running meanwhile, and again from the start of the response on.
    this.#running++;
    try {
      if (exchange.method !== "HEAD") await this.#record(exchange, requested);
    } finally {
      this.#running--;
    }
    const { format, filter, isAllowed } = requested;
    const { contentType, extension } = exportFormats[format];
    const day = new Date().toISOString().slice(0, 10);
    const headers = { "Content-Disposition": `attachment; filename="plants-${day}.${extension}"` };
    const stream = exchange.stream(contentType, headers, isAllowed);
    if (stream === undefined || !stream.open) return;
    this.#running++;
    stream.onEnd = () => this.#running--;
    const pages = pagesOf(this.#archive, filter, rowsPerPage);
    for await (const piece of formatPages(pages, exportFormats[format])) {
      await stream.write(piece);
      if (!stream.open) return;
    }
    stream.end();
  }

  #record(exchange: Exchange, { caller, format, filter }: RequestedExport): Promise<void> {
    const chosen = filterText(filter);
    const detail = chosen === "" ? format : `${format}, ${chosen}`;
    return recordAction(this.#audit, exchange, caller, {
      action: "export.started",
      subject: "plants",
      detail,
    });
  }
}

/** Joins rows into pieces, each of which a client must read in time. */
function* piecesOf(rows: Iterable<string>): Generator<string, void, void> {
  let text = "";
  for (const row of rows) {
    text += row;
    if (text.length < pieceCharacters) continue;
    yield text;
    text = "";
  }
  if (text !== "") yield text;
}

async function* formatPages(
  pages: AsyncIterable<PlantPage>,
  { header, row, separator, footer }: ExportFormat,
): AsyncGenerator<string, void, void> {
  if (header !== "") yield header;
  let before = "";
  const withSeparator = (plant: StoredPlant): string => {
    const text = before + row(plant);
    before = separator;
    return text;
  };
  for await (const { plants } of pages) yield* piecesOf(plants.values().map(withSeparator));
  if (footer !== "") yield footer;
}
