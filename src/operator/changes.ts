import { setTimeout as sleep } from "node:timers/promises";
import type { AuditTrail } from "../access/audit.ts";
import type { Caller } from "../access/gate.ts";
import { presentPlant } from "../files/present-plant.ts";
import type { Exchange } from "../http/exchange.ts";
import { HttpError } from "../http/http-error.ts";
import type { StreamedResponse } from "../http/streaming.ts";
import { jsonText } from "../plants/json-text.ts";
import { type Change, type PlantArchive, StaleCursor } from "../plants/plant-archive.ts";
import { recordAction } from "./audit.ts";
import { piecesOf } from "./exports.ts";
import { orWrongParameter } from "./parameters.ts";

export interface RequestedChanges {
  readonly after: string;
  /** The response ends after this many plants. */
  readonly limit: number;
  /** Whether it waits for plants that are not stored yet; otherwise it ends at the last. */
  readonly follow: boolean;
  readonly format: "ndjson" | "events";
  readonly caller: Caller;
  /** Whether the caller is still allowed. */
  readonly isAllowed: () => boolean;
}

interface ChangeFormat {
  readonly contentType: string;
  readonly row: (change: Change) => string;
  /** The heartbeat, which a reader ignores. */
  readonly heartbeat: string;
}

export const beginning = "0";
const rowsPerPage = 1000;
const streamsMax = 16;
const pollEveryMs = 100;
const heartbeatEveryMs = 10_000;

const formats: Readonly<Record<RequestedChanges["format"], ChangeFormat>> = {
  ndjson: {
    contentType: "application/x-ndjson; charset=utf-8",
    row: (change) => `${rowText(change)}\n`,
    heartbeat: "\n",
  },
  events: {
    contentType: "text/event-stream",
    row: (change) => `id: ${change.cursor}\ndata: ${rowText(change)}\n\n`,
    heartbeat: ": heartbeat\n\n",
  },
};

/** The change feed: every plant once, in the order in which they were stored, up to the newest and then as they arrive. */
export class Changes {
  readonly #archive: PlantArchive;
  readonly #audit: AuditTrail;
  #streams = 0;

  constructor(archive: PlantArchive, audit: AuditTrail) {
    this.#archive = archive;
    this.#audit = audit;
  }

  async send(exchange: Exchange, requested: RequestedChanges): Promise<void> {
    if (this.#streams >= streamsMax)
      throw new HttpError("too-busy", `${streamsMax} clients already follow the changes. Try again later.`);
    this.#streams++;
    try {
      // Before the response starts, so that a wrong cursor gets its own status.
      const first = await this.#read(requested.after, Math.min(rowsPerPage, requested.limit));
      await this.#record(exchange, requested);
      const { contentType } = formats[requested.format];
      const stream = exchange.stream(contentType, {}, requested.isAllowed);
      if (stream !== undefined) await this.#send(stream, requested, first);
    } finally {
      this.#streams--;
    }
  }

  async #send(
    stream: StreamedResponse,
    { after, limit, follow, format }: RequestedChanges,
    first: readonly Change[],
  ): Promise<void> {
    const { row, heartbeat } = formats[format];
    let cursor = after;
    let sent = 0;
    let writtenMs = performance.now();
    // A client or proxy may hold the response until the first byte of its body.
    if (first.length === 0) await stream.write(heartbeat);
    for (let changes = first; stream.open; ) {
      for (const piece of piecesOf(changes.values().map(row))) {
        await stream.write(piece);
        writtenMs = performance.now();
      }
      sent += changes.length;
      cursor = changes.at(-1)?.cursor ?? cursor;
      if (sent === limit || (changes.length === 0 && !follow)) return stream.end();
      if (changes.length === 0) await sleep(pollEveryMs);
      if (performance.now() - writtenMs > heartbeatEveryMs) {
        await stream.write(heartbeat);
        writtenMs = performance.now();
      }
      if (stream.open) changes = await this.#read(cursor, Math.min(rowsPerPage, limit - sent));
    }
  }

  async #read(after: string, limit: number): Promise<readonly Change[]> {
    if (this.#archive.changesAfter === undefined) throw new HttpError("no-change-feed");
    try {
      return await orWrongParameter(this.#archive.changesAfter(after, limit));
    } catch (error) {
      throw error instanceof StaleCursor ? new HttpError("stale-cursor") : error;
    }
  }

  /** Only from the beginning: every later read continues one that has an entry, and a follower connects often. */
  async #record(exchange: Exchange, { after, format, caller }: RequestedChanges): Promise<void> {
    if (after !== beginning || exchange.method === "HEAD") return;
    const entry = { action: "export.started", subject: "plants", detail: `change feed, ${format}` } as const;
    await recordAction(this.#audit, exchange, caller, entry);
  }
}

function rowText({ cursor, plant }: Change): string {
  return jsonText({ cursor, ...presentPlant(plant) });
}
