import { formatNames, type RowFormat, rowFormats } from "../plants/export-rows.ts";
import { type PlantArchive, type PlantFilter, pagesOf } from "../plants/plant-archive.ts";
import { type Answer, errorResponse, json, Refused, readObject } from "./call.ts";
import { filterNames, readChoice, readFilter, readQuery } from "./read-filter.ts";

interface Wanted {
  readonly format: (typeof formatNames)[number];
  readonly filter: PlantFilter;
  /** Whether the token that asked for it is still good. */
  readonly stillAllowed: () => boolean;
}

const rowsAtOnce = 1000;
const linkMsMax = 60_000;
// Links nobody follows are forgotten in a minute; this keeps a runaway script from piling them up meanwhile.
const linksMax = 1000;
const runningMax = 8;

/**
 * Exports, whole or filtered, as streams of pages: never more than one page of each is in memory. A browser cannot send a
 * token with a download of its own accord, so there are links to them too: good once, for a minute.
 */
export class Exports {
  readonly #archive: PlantArchive;
  readonly #links = new Map<string, Wanted & { readonly untilMs: number }>();
  #running = 0;

  constructor(archive: PlantArchive) {
    this.#archive = archive;
  }

  straight: Answer = ({ query, stillAllowed }) => {
    const given = readQuery(query, [...filterNames, "format"]);
    return this.#download({ ...readWanted(given), stillAllowed });
  };

  createLink: Answer = async ({ request, stillAllowed }) => {
    const wanted = readWanted(await readObject(request, ["format", ...filterNames]));
    for (const [secret, { untilMs }] of this.#links) if (untilMs < Date.now()) this.#links.delete(secret);
    if (this.#links.size >= linksMax)
      throw new Refused("too-busy", "Too many exports were asked for at once. Try again in a minute.");
    const secret = crypto.randomUUID();
    this.#links.set(secret, { ...wanted, stillAllowed, untilMs: Date.now() + linkMsMax });
    return json({ url: `/api/exports/${secret}` }, 201);
  };

  follow({ method }: Request, secret: string): Response {
    // Asking about it does not use it up, and there is nothing to tell before the rows come.
    if (method !== "GET")
      return errorResponse("no-such-method", "A link to an export takes GET alone.", { Allow: "GET" });
    const wanted = this.#links.get(secret);
    this.#links.delete(secret);
    if (wanted === undefined || wanted.untilMs < Date.now() || !wanted.stillAllowed())
      throw new Refused(
        "no-such-path",
        "This link has been used, or its minute is over. Ask for the export again.",
      );
    return this.#download(wanted);
  }

  #download({ format, filter, stillAllowed }: Wanted): Response {
    if (this.#running >= runningMax)
      throw new Refused(
        "too-busy",
        `${runningMax} exports are running already. Try again when one has ended.`,
      );
    this.#running++;
    const day = new Date().toISOString().slice(0, 10);
    const ended = (): void => {
      this.#running--;
    };
    return new Response(rows(this.#archive, rowFormats[format], { filter, stillAllowed, ended }), {
      headers: {
        "Content-Type": rowFormats[format].contentType,
        "Content-Disposition": `attachment; filename="plants-${day}.${format}"`,
      },
    });
  }
}

function readWanted(given: Readonly<Record<string, unknown>>): Omit<Wanted, "stillAllowed"> {
  return { format: readChoice(given, "format", formatNames) ?? "ndjson", filter: readFilter(given) };
}

interface RowsWanted {
  readonly filter: PlantFilter;
  readonly stillAllowed: () => boolean;
  readonly ended: () => void;
}

function rows(
  archive: PlantArchive,
  { header, row }: RowFormat,
  { filter, stillAllowed, ended }: RowsWanted,
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  const pages = pagesOf(archive, filter, rowsAtOnce);
  let wanted = true;
  const end = (): void => {
    if (wanted) ended();
    wanted = false;
  };
  return new ReadableStream<Uint8Array>(
    {
      cancel: end,
      start(controller) {
        if (header !== "") controller.enqueue(encoder.encode(header));
      },
      async pull(controller) {
        try {
          // A page of a search can be empty and not be the last; a pull must give something or end.
          while (wanted) {
            if (!stillAllowed()) throw new Error("the token has ended");
            const { value: page } = await pages.next();
            if (!wanted) return;
            const found = page?.plants ?? [];
            if (found.length > 0) controller.enqueue(encoder.encode(found.map(row).join("")));
            if (page?.next === undefined) {
              end();
              return controller.close();
            }
            if (found.length > 0) return;
          }
        } catch (error) {
          // The file ends without its last chunk, so whoever reads it knows that it is not whole.
          end();
          controller.error(error);
        }
      },
    },
    { highWaterMark: 0 },
  );
}
