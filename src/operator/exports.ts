import type { Gate } from "../access/gate.ts";
import { exportFormatNames, exportFormats, exportText } from "../files/export-formats.ts";
import type { Exchange } from "../http/exchange.ts";
import { type Route, route } from "../http/route.ts";
import { type PlantArchive, type PlantFilter, pagesOf } from "../plants/plant-archive.ts";
import { isoDate } from "../text/time.ts";
import type { ActionRecorder } from "./action-recorder.ts";
import { ConcurrencyLimit } from "./concurrency-limit.ts";
import { type Download, Downloads, sendFile } from "./downloads.ts";
import {
  describeFilter,
  filterParameters,
  readChoice,
  readFields,
  readPlantFilter,
  readQuery,
  type SentValues,
} from "./parameters.ts";
import type { DownloadLinkJson } from "./responses.ts";

const exportParameters = ["format", ...filterParameters];
const rowsPerPage = 1000;
const exportsMax = 8;

/**
 * Exports plants, by a token or by a link for the browser. Each is a stream of pages: never more than one page of it is in
 * memory.
 */
export function exportRoutes(archive: PlantArchive, actions: ActionRecorder, gate: Gate): readonly Route[] {
  const downloads = new Downloads<Export>(gate, "operator:read");
  const exportLimit = new ConcurrencyLimit("exports", exportsMax);
  /** `claimDownload` uses up the link, if the export was requested by one. */
  const send = async (
    exchange: Exchange,
    { caller, target: { format, filter } }: Download<Export>,
    claimDownload: () => Download<Export>,
  ): Promise<void> => {
    exchange.refuseWhileDraining();
    using _running = exportLimit.acquire(caller);
    const detail = [format, describeFilter(filter)].filter((part) => part !== "").join(", ");
    // The audit trail has the export before its first row is sent.
    if (exchange.method !== "HEAD")
      await actions.record(exchange, caller, "export.started", "plants", detail);
    // A link works once, so no request that is refused uses it up. Another request may have used it meanwhile.
    const download = claimDownload();
    const { contentType, extension } = exportFormats[format];
    const name = `plants-${isoDate(Date.now())}.${extension}`;
    const pages = pagesOf(archive, filter, rowsPerPage);
    await sendFile(exchange, download, { name, contentType }, exportText(pages, exportFormats[format]));
  };

  return [
    route("GET", "/api/export", "operator:read", (exchange, caller) => {
      const requested = readExport(readQuery(exchange.query, exportParameters));
      const download = downloads.createDownload(exchange, caller, requested);
      return send(exchange, download, () => download);
    }),

    route("POST", "/api/exports", "operator:read", async (exchange, caller) => {
      const requested = readExport(await readFields(exchange, exportParameters));
      const secret = downloads.createLink(exchange, caller, requested);
      exchange.respondJson({ url: `/api/exports/${secret}` } satisfies DownloadLinkJson, 201);
    }),

    route("GET", "/api/exports/{secret}", "none", (exchange) =>
      send(exchange, downloads.requireDownload(exchange), () => downloads.claimDownload(exchange)),
    ),
  ];
}

/** Which plants are exported, and how. */
interface Export {
  readonly format: (typeof exportFormatNames)[number];
  readonly filter: PlantFilter;
}

function readExport(values: SentValues): Export {
  return {
    format: readChoice(values, "format", exportFormatNames) ?? "ndjson",
    filter: readPlantFilter(values),
  };
}
