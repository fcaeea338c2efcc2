import { exportFormatNames, exportFormats } from "../files/export-formats.ts";
import { type PlantArchive, type PlantFilter, pagesOf } from "../plants/plant-archive.ts";
import { type Answer, errorResponse, json, Refused, readObject } from "./call.ts";
import { filterNames, readChoice, readFilter, readQuery } from "./read-filter.ts";
import { RowStream } from "./row-stream.ts";

interface Wanted {
  readonly format: (typeof exportFormatNames)[number];
  readonly filter: PlantFilter;
  /** Whether the token that asked for it is still good. */
  readonly stillAllowed: () => boolean;
}

interface Running {
  readonly rows: RowStream;
  readonly stillAllowed: () => boolean;
  readonly cut: () => void;
}

const rowsAtOnce = 1000;
const linkMsMax = 60_000;
// Links nobody follows are forgotten in a minute; this keeps a runaway script from piling them up meanwhile.
const linksMax = 1000;
const runningMax = 8;
const lookEveryMs = 250;
// For one piece of 256 KB: whoever needs longer reads less than 5 KB per second, or not at all.
const stalledMsMax = 60_000;

/**
 * Exports, whole or filtered, as streams of pages: never more than one page of each is in memory. A browser cannot send a
 * token with a download of its own accord, so there are links to them too: good once, for a minute.
 */
export class Exports {
  readonly #archive: PlantArchive;
  readonly #now: () => number;
  readonly #links = new Map<string, Wanted & { readonly untilMs: number }>();
  readonly #running = new Set<Running>();
  #timer: NodeJS.Timeout | undefined;

  constructor(archive: PlantArchive, now: () => number = Date.now) {
    this.#archive = archive;
    this.#now = now;
  }

  straight: Answer = ({ query, stillAllowed, cut }) => {
    const given = readQuery(query, [...filterNames, "format"]);
    return this.#download({ ...readWanted(given), stillAllowed }, cut);
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

  follow = ({ method }: Request, secret: string, cut: () => void): Response => {
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
    return this.#download(wanted, cut);
  };

  close(): void {
    for (const running of this.#running) this.#stop(running, "the service is stopping");
  }

  #download({ format, filter, stillAllowed }: Wanted, cut: () => void): Response {
    if (this.#running.size >= runningMax)
      throw new Refused(
        "too-busy",
        `${runningMax} exports are running already. Try again when one has ended.`,
      );
    const day = new Date().toISOString().slice(0, 10);
    const rows = new RowStream(pagesOf(this.#archive, filter, rowsAtOnce), exportFormats[format], {
      now: this.#now,
      onEnd: () => this.#ended(running),
    });
    const running: Running = { rows, stillAllowed, cut };
    this.#running.add(running);
    this.#timer ??= setInterval(() => this.#look(), lookEveryMs);
    return new Response(rows.body, {
      headers: {
        "Content-Type": exportFormats[format].contentType,
        "Content-Disposition": `attachment; filename="plants-${day}.${format}"`,
      },
    });
  }

  // Also of those that are not read, as nothing else would ever end them.
  #look(): void {
    for (const running of this.#running) {
      const { waitingSinceMs = Number.POSITIVE_INFINITY } = running.rows;
      if (!running.stillAllowed()) this.#stop(running, "the token has ended");
      else if (this.#now() - waitingSinceMs > stalledMsMax) this.#stop(running, "the client does not read");
    }
  }

  #stop({ rows, cut }: Running, reason: string): void {
    rows.stop(reason);
    cut();
  }

  #ended(running: Running): void {
    this.#running.delete(running);
    if (this.#running.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}

function readWanted(given: Readonly<Record<string, unknown>>): Omit<Wanted, "stillAllowed"> {
  return { format: readChoice(given, "format", exportFormatNames) ?? "ndjson", filter: readFilter(given) };
}
