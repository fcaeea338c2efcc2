import { formatNames, type RowFormat, rowFormats } from "../plants/export-rows.ts";
import type { PlantArchive, PlantFilter } from "../plants/plant-archive.ts";
import { type Answer, json, Refused, readObject } from "./call.ts";
import { filterNames, readChoice, readFilter, readQuery } from "./read-filter.ts";

interface Wanted {
  readonly format: (typeof formatNames)[number];
  readonly filter: PlantFilter;
}

const rowsAtOnce = 1000;
const searchMsMax = 1000;
const linkMsMax = 60_000;
// Links nobody follows are forgotten in a minute; this keeps a runaway script from piling them up meanwhile.
const linksMax = 1000;

/** The whole export, or what a filter leaves of it, as a stream of pages: never more than one page is in memory. */
export function exportPlants(archive: PlantArchive): Answer {
  return ({ query }) => {
    const given = readQuery(query, [...filterNames, "format"]);
    return download(archive, readWanted(given));
  };
}

/** Links that a browser can download from, since it cannot send a token of its own accord: good once, for a minute. */
export class ExportLinks {
  readonly #archive: PlantArchive;
  readonly #links = new Map<string, Wanted & { readonly untilMs: number }>();

  constructor(archive: PlantArchive) {
    this.#archive = archive;
  }

  create: Answer = async ({ request }) => {
    const { format = "ndjson", ...filter } = await readObject(request);
    const wanted = readWanted({ ...filter, format });
    for (const [secret, { untilMs }] of this.#links) if (untilMs < Date.now()) this.#links.delete(secret);
    if (this.#links.size >= linksMax)
      throw new Refused("too-busy", "Too many exports were asked for at once. Try again in a minute.");
    const secret = crypto.randomUUID();
    this.#links.set(secret, { ...wanted, untilMs: Date.now() + linkMsMax });
    return json({ url: `/api/exports/${secret}` }, 201);
  };

  follow({ method }: Request, secret: string): Response {
    // Asking about it does not use it up, and there is nothing to tell before the rows come.
    if (method !== "GET") throw new Refused("no-such-method", "A link to an export takes GET alone.");
    const wanted = this.#links.get(secret);
    this.#links.delete(secret);
    if (wanted === undefined || wanted.untilMs < Date.now())
      throw new Refused(
        "no-such-path",
        "This link has been used, or its minute is over. Ask for the export again.",
      );
    return download(this.#archive, wanted);
  }
}

function readWanted(given: Readonly<Record<string, unknown>>): Wanted {
  const unknown = Object.keys(given).find(
    (name) => name !== "format" && !(filterNames as readonly string[]).includes(name),
  );
  if (unknown !== undefined)
    throw new Refused("wrong-parameter", `There is no field "${unknown.slice(0, 50)}" here.`);
  return { format: readChoice(given, "format", formatNames) ?? "ndjson", filter: readFilter(given) };
}

function download(archive: PlantArchive, { format, filter }: Wanted): Response {
  const day = new Date().toISOString().slice(0, 10);
  return new Response(rows(archive, rowFormats[format], filter), {
    headers: {
      "Content-Type": rowFormats[format].contentType,
      "Content-Disposition": `attachment; filename="plants-${day}.${format}"`,
    },
  });
}

function rows(
  archive: PlantArchive,
  { header, row }: RowFormat,
  filter: PlantFilter,
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  let cursor: string | undefined;
  let wanted = true;
  return new ReadableStream<Uint8Array>({
    cancel() {
      wanted = false;
    },
    start(controller) {
      if (header !== "") controller.enqueue(encoder.encode(header));
    },
    async pull(controller) {
      // A page of a search can be empty and not be the last; a pull must give something or end.
      while (wanted) {
        const page = await archive.page({
          filter,
          order: "oldest-first",
          cursor,
          limit: rowsAtOnce,
          searchMsMax,
        });
        cursor = page.next;
        if (!wanted) return;
        if (page.plants.length > 0) controller.enqueue(encoder.encode(page.plants.map(row).join("")));
        if (cursor === undefined) return controller.close();
        if (page.plants.length > 0) return;
      }
    },
  });
}
