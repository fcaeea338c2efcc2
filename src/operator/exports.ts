import type { AuditTrail } from "../access/audit.ts";
import type { Caller } from "../access/gate.ts";
import { type ExportFormat, exportFormatNames, exportFormats } from "../files/export-formats.ts";
import type { Exchange } from "../http/exchange.ts";
import { HttpError } from "../http/http-error.ts";
import { type PlantArchive, type PlantFilter, type PlantPage, pagesOf } from "../plants/plant-archive.ts";
import { recordAction } from "./audit.ts";
import { readChoice, readFilter, textParameter, type Values } from "./parameters.ts";

/** An export that someone may have. */
export interface RequestedExport {
  readonly format: (typeof exportFormatNames)[number];
  readonly filter: PlantFilter;
  /** Who requested it, */
  readonly caller: Caller;
  /** and whether they still may. */
  readonly isAllowed: () => boolean;
}

export const formatParameter = textParameter("format", "The format of the rows.", {
  enum: exportFormatNames,
  default: "ndjson",
});
export const exportContent = {
  "application/x-ndjson": { schema: { type: "string" } },
  "text/csv": { schema: { type: "string" } },
};

const rowsPerPage = 1000;
const linkMsMax = 60_000;
// Links that nobody follows expire in a minute; this bounds what a runaway script can pile up meanwhile.
const linksMax = 1000;
const runningMax = 8;
// The pieces that a client must read one by one, or be cut off.
const pieceCharacters = 262_144;
const detailCharactersMax = 500;

export function readExport(values: Values, caller: Caller, isAllowed: () => boolean): RequestedExport {
  const format = readChoice(values, "format", exportFormatNames) ?? "ndjson";
  return { format, filter: readFilter(values), caller, isAllowed };
}

/** Exports as streams of pages: never more than one page of each is in memory. */
export class Exports {
  readonly #archive: PlantArchive;
  readonly #audit: AuditTrail;
  readonly #links = new Map<string, RequestedExport & { readonly expiresMs: number }>();
  #running = 0;

  constructor(archive: PlantArchive, audit: AuditTrail) {
    this.#archive = archive;
    this.#audit = audit;
  }

  /** A secret by which the export can be downloaded once, within a minute. */
  createLink(requested: RequestedExport): string {
    for (const [secret, { expiresMs }] of this.#links)
      if (expiresMs < performance.now()) this.#links.delete(secret);
    if (this.#links.size >= linksMax)
      throw new HttpError("too-busy", "Too many exports were requested. Try again in a minute.");
    const secret = crypto.randomUUID();
    this.#links.set(secret, { ...requested, expiresMs: performance.now() + linkMsMax });
    return secret;
  }

  useLink(secret: string): RequestedExport | undefined {
    const link = this.#links.get(secret);
    this.#links.delete(secret);
    return link !== undefined && link.expiresMs >= performance.now() && link.isAllowed() ? link : undefined;
  }

  /** The audit trail has an entry before the first row is sent. */
  async send(exchange: Exchange, requested: RequestedExport): Promise<void> {
    if (this.#running >= runningMax)
      throw new HttpError(
        "too-busy",
        `${runningMax} exports are running already. Try again when one has ended.`,
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
    for await (const piece of piecesOf(pagesOf(this.#archive, filter, rowsPerPage), exportFormats[format])) {
      await stream.write(piece);
      if (!stream.open) return;
    }
    stream.end();
  }

  #record(exchange: Exchange, { caller, format, filter }: RequestedExport): Promise<void> {
    const chosen = Object.entries(filter).filter(([, value]) => value !== undefined);
    const detail = [format, ...chosen.map(([name, value]) => `${name} ${value}`)].join(", ");
    return recordAction(this.#audit, exchange, caller, {
      action: "export.started",
      subject: "plants",
      detail: detail.slice(0, detailCharactersMax),
    });
  }
}

async function* piecesOf(
  pages: AsyncIterable<PlantPage>,
  { header, row, separator, footer }: ExportFormat,
): AsyncGenerator<string, void, void> {
  if (header !== "") yield header;
  let isFirst = true;
  // A page of a search can be empty and not be the last.
  for await (const { plants } of pages) {
    let text = "";
    for (const plant of plants) {
      text += isFirst ? row(plant) : separator + row(plant);
      isFirst = false;
      if (text.length < pieceCharacters) continue;
      yield text;
      text = "";
    }
    if (text !== "") yield text;
  }
  if (footer !== "") yield footer;
}
