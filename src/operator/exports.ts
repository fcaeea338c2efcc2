import { exportFormatNames, exportFormats, exportText } from "../files/export-formats.ts";
import { stream } from "../http/reply.ts";
import { type PlantArchive, pagesOf } from "../plants/plant-archive.ts";
import { oneOf } from "../text/parsers.ts";
import { isoDate } from "../text/time.ts";
import type { ActionRecorder } from "./action-recorder.ts";
import type { ApiRequest } from "./api-route.ts";
import type { CallerTurns } from "./caller-turns.ts";
import type { Download, DownloadLinks } from "./download-links.ts";
import { describeFilter, filterOf, filterParameters, type Values } from "./parameters.ts";

const rowsPerPage = 1000;

/** Which plants are exported, and how. */
export const exportParameters = { format: oneOf(exportFormatNames), ...filterParameters };

/**
 * Exports plants, by a token or by a link for the browser. An export is a stream of pages: never more than one is in memory, and each
 * is a turn of the caller.
 */
export function exportHandlers(
  archive: PlantArchive,
  actions: ActionRecorder,
  turns: CallerTurns,
  links: DownloadLinks,
) {
  const downloadOf = (values: Values<typeof exportParameters>): Download => {
    const { format = "ndjson" } = values;
    const filter = filterOf(values);
    return async (exchange, caller) => {
      exchange.refuseWhileDraining();
      const detail = [format, describeFilter(filter)].filter((part) => part !== "").join(", ");
      // The audit trail has the export before its first row is sent.
      if (exchange.method !== "HEAD")
        await actions.record(exchange, caller, "export.started", "plants", detail);
      const inTurn: Pick<PlantArchive, "page"> = {
        page: (request) => turns.await(exchange, caller, () => archive.page(request)),
      };
      const { contentType, extension } = exportFormats[format];
      const name = `plants-${isoDate(Date.now())}.${extension}`;
      const pages = pagesOf(inTurn, filter, rowsPerPage);
      return stream(contentType, name, exportText(pages, exportFormats[format]));
    };
  };

  return {
    send: ({ exchange, caller, values }: ApiRequest<typeof exportParameters>) =>
      downloadOf(values)(exchange, caller),

    createLink: ({ exchange, caller, values }: ApiRequest<typeof exportParameters>) =>
      links.create(exchange, caller, "plants:read", downloadOf(values)),
  };
}
